import type { Answer, CallOptions, Client } from './client.ts';

/** What a create may ask for. */
export interface CreateBody {
  readonly name?: string | null;
  readonly tags?: Readonly<Record<string, string>> | null;
  readonly vcpu_count?: number | null;
  readonly mem_size_mib?: number | null;
  readonly env?: Readonly<Record<string, string>> | null;
  readonly egress?: Egress | null;
  readonly image_id?: string | null;
  readonly drives?: readonly { readonly id: string; readonly read_only?: boolean }[] | null;
  readonly rate_limit?: Readonly<Record<string, number>> | null;
}

export interface Egress {
  readonly mode: 'allow_all' | 'deny_all';
  readonly allow_cidrs?: readonly string[];
  readonly deny_cidrs?: readonly string[];
}

/** One item of `GET /sandboxes`. */
export interface Item {
  readonly id: string;
  readonly name: string | null;
  readonly tags: Readonly<Record<string, string>>;
  readonly egress: Egress | null;
  readonly drives: readonly { readonly id: string }[];
}

export interface ExecResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly exit_code: number;
  readonly timed_out?: true;
  readonly stdout_base64?: string;
  readonly stderr_base64?: string;
  readonly truncated?: true;
}

/** What an exec may ask for besides the program and its arguments. */
export interface ExecOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly timeout_ms?: number;
  readonly stdin_base64?: string;
  readonly user?: string;
}

const ASK_METADATA = `
token=$(curl -sf -X PUT -H 'X-metadata-token-ttl-seconds: 60' http://169.254.169.254/latest/api/token)
curl -sf -H "X-metadata-token: $token" -H 'Accept: application/json' http://169.254.169.254/`;

/** A sandbox that was created; disposing of it destroys it. */
export class Sandbox implements AsyncDisposable {
  readonly id: string;
  readonly path: string;
  readonly #client: Client;

  constructor(client: Client, id: string) {
    this.#client = client;
    this.id = id;
    this.path = `/sandboxes/${id}`;
  }

  /** Any of its POST routes. */
  post(operation: string, body: unknown, options?: CallOptions): Promise<Answer> {
    return this.#client.call('POST', `${this.path}/${operation}`, body, options);
  }

  /** Runs a program. Rejects when the daemon does not answer 200. */
  async exec(
    command: string,
    args: readonly string[] = [],
    options: ExecOptions = {},
    call?: CallOptions,
  ): Promise<ExecResult> {
    const answer = await this.post('exec', { command, args, ...options }, call);
    if (answer.status !== 200) throw new Error(`exec ${command}: ${answer.status} ${answer.text}`);
    return answer.json as ExecResult;
  }

  /** Runs a shell script and answers what it prints, less the newline at the end. Rejects when it fails. */
  async sh(script: string, options: ExecOptions = {}): Promise<string> {
    const { stdout, stderr, exit_code } = await this.exec('/bin/sh', ['-c', script], options);
    if (exit_code !== 0) throw new Error(`${script}: exit code ${exit_code}: ${stderr}`);
    return stdout.replace(/\n$/, '');
  }

  /** What the metadata service tells it of itself. */
  async metadata(): Promise<unknown> {
    return JSON.parse(await this.sh(ASK_METADATA));
  }

  /** Ids of the guest's processes whose command line holds this text (a pattern of pgrep). */
  async pgrep(pattern: string): Promise<number[]> {
    const { stdout } = await this.exec('pgrep', ['-f', '--', pattern]);
    return stdout.split('\n').filter(Boolean).map(Number);
  }

  destroy(): Promise<Answer> {
    return this.#client.call('DELETE', `${this.path}?keep=false`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { status, text } = await this.destroy();
    if (status !== 204 && status !== 404) throw new Error(`destroy ${this.id}: ${status} ${text}`);
  }
}

/** Boots a sandbox. Rejects when the daemon does not answer 200. */
export async function createSandbox(
  client: Client,
  body?: CreateBody,
  options?: CallOptions,
): Promise<Sandbox> {
  const answer = await client.call('POST', '/sandboxes', body, options);
  if (answer.status !== 200) throw new Error(`create: ${answer.status} ${answer.text}`);
  return new Sandbox(client, (answer.json as { id: string }).id);
}

/** The live sandboxes. The query comes with its question mark. */
export async function listSandboxes(client: Client, query = ''): Promise<Item[]> {
  const answer = await client.call('GET', `/sandboxes${query}`);
  if (answer.status !== 200) throw new Error(`list: ${answer.status} ${answer.text}`);
  return (answer.json as { sandboxes: Item[] }).sandboxes;
}

/** The IPv4 address that a sandbox's guest has. */
export function addressOf(sandbox: Sandbox): Promise<string> {
  return sandbox.sh("ip -4 -brief address show dev eth0 | sed 's,.* \\([0-9.]*\\)/.*,\\1,'");
}

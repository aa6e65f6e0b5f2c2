/** Commands in the nested machine: SSH to its forwarded port on loopback, with a key made for this boot. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { run } from '../../../packages/daemon/src/lib/run.ts';

/** What it takes to reach a machine: the port on loopback, and the directory that holds the key. */
export interface Access {
  readonly port: number;
  readonly dir: string;
}

/** Makes the key pair of a boot in `dir` and answers its public half, base64. */
export async function makeKey(dir: string, signal: AbortSignal): Promise<string> {
  const file = join(dir, 'key');
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file], signal);
  const [, key] = (await run('ssh-keygen', ['-y', '-f', file], signal)).split(' ');
  if (key === undefined) throw new Error('ssh-keygen gave no key');
  return key.trim();
}

/** The arguments of ssh up to the command. A connection that `shareConnection` holds is used when there is one. */
function sshArgs({ port, dir }: Access): string[] {
  const options = {
    IdentitiesOnly: 'yes',
    BatchMode: 'yes',
    StrictHostKeyChecking: 'no',
    UserKnownHostsFile: '/dev/null',
    LogLevel: 'ERROR',
    ConnectTimeout: '20',
    ServerAliveInterval: '30',
    ControlPath: join(dir, 'ssh'),
  };
  const flags = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  return ['-F', 'none', '-i', join(dir, 'key'), '-p', String(port), ...flags, 'root@127.0.0.1'];
}

/** Holds a connection that later commands share: a handshake takes an emulated processor a second. */
export function shareConnection(access: Access): Disposable {
  const child = spawn('ssh', ['-M', '-N', ...sshArgs(access)], { stdio: 'ignore' });
  child.on('error', () => undefined); // Commands then connect by themselves.
  return { [Symbol.dispose]: () => void child.kill() };
}

export interface CommandOptions {
  readonly signal: AbortSignal;
  /** Becomes the command's standard input; nothing when not given. */
  readonly input?: NodeJS.ReadableStream;
  /** Gets standard output and standard error; they go to ours when not given. */
  readonly onOutput?: (chunk: Buffer) => void;
}

/** Runs a shell command in the machine as root and answers its exit code; 255 when SSH itself failed. */
export async function runOver(access: Access, command: string, options: CommandOptions): Promise<number> {
  const { signal, input, onOutput } = options;
  const output = onOutput === undefined ? 'inherit' : 'pipe';
  const child = spawn('ssh', [...sshArgs(access), command], {
    stdio: [input === undefined ? 'ignore' : 'pipe', output, output],
    signal,
  });
  if (onOutput !== undefined) {
    child.stdout?.on('data', onOutput);
    child.stderr?.on('data', onOutput);
  }
  if (child.stdin !== null) {
    child.stdin.on('error', () => undefined); // The exit code says what became of it.
    input?.pipe(child.stdin);
  }
  return await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 255));
  });
}

/** Quotes an argument for the machine's shell. */
export function quote(argument: string): string {
  return `'${argument.replaceAll("'", `'\\''`)}'`;
}

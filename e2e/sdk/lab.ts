import type * as Sdk from '../../packages/sdk/src/index.ts';
import { Daemon } from '../harness/daemon.ts';
import type { Env } from '../harness/daemon.ts';
import { importSdk } from './packed.ts';

export type Sandbox = Sdk.Sandbox;

/** What the daemon of a lab asks for. */
export const TOKEN = 'tok-sdk-2c71-secret';

/** Small, and enough for a shell and Python. */
export const SIZE = { vcpu_count: 1, mem_size_mib: 256 };

/** A daemon with a token, and the packed SDK. Its sandboxes go with it. */
export class Lab implements AsyncDisposable {
  readonly daemon: Daemon;
  readonly sdk: typeof Sdk;
  /** Knows the daemon's address and token. */
  readonly client: Sdk.Atoll;

  private constructor(daemon: Daemon, sdk: typeof Sdk, client: Sdk.Atoll) {
    this.daemon = daemon;
    this.sdk = sdk;
    this.client = client;
  }

  static async start(env: Env = {}): Promise<Lab> {
    const sdk = await importSdk();
    const daemon = await Daemon.start({ SERVICE_AUTH_TOKEN: TOKEN, ...env });
    return new Lab(
      daemon,
      sdk,
      new sdk.Atoll({ url: daemon.url, token: env['SERVICE_AUTH_TOKEN'] ?? TOKEN }),
    );
  }

  /** A small sandbox. */
  create(body: Sdk.CreateSandbox = {}): Promise<Sandbox> {
    return this.sdk.Sandbox.create({ ...SIZE, ...body }, { client: this.client });
  }

  /** Ends the daemon; with everything that it runs. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.daemon[Symbol.asyncDispose]();
  }
}

/** What a call throws. Rejects when it throws nothing. */
export async function thrown(call: Promise<unknown>): Promise<Error> {
  const nothing = Symbol('nothing');
  const error = await call.then(
    () => nothing,
    (each: unknown) => each,
  );
  if (error instanceof Error) return error;
  throw new Error(error === nothing ? 'nothing was thrown' : `no Error was thrown: ${String(error)}`);
}

/** Runs a shell script and answers what it prints, less the newline at its end. Rejects when it fails. */
export async function sh(sandbox: Sandbox, script: string): Promise<string> {
  const { stdout, stderr, exit_code } = await sandbox.exec('/bin/sh', ['-c', script]);
  if (exit_code !== 0) throw new Error(`${script}: exit code ${exit_code}: ${stderr}`);
  return stdout.replace(/\n$/, '');
}

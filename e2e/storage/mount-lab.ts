import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { Daemon } from '../harness/daemon.ts';
import { createSandbox } from '../harness/sandbox.ts';
import type { Sandbox } from '../harness/sandbox.ts';
import { Outside, OUTSIDE } from '../network/outside.ts';
import { S3Server } from './s3.ts';

/** One item of `GET /sandboxes/:id/mounts`. */
export interface Mount {
  readonly id: string;
  readonly mount_path: string;
}

/** A daemon, a sandbox, and beyond the uplink an S3 server with the bucket `data`. */
export class MountLab implements AsyncDisposable {
  readonly s3: S3Server;
  readonly daemon: Daemon;
  readonly sandbox: Sandbox;
  readonly #stack: AsyncDisposableStack;

  private constructor(s3: S3Server, daemon: Daemon, sandbox: Sandbox, stack: AsyncDisposableStack) {
    this.s3 = s3;
    this.daemon = daemon;
    this.sandbox = sandbox;
    this.#stack = stack;
  }

  static async create(): Promise<MountLab> {
    await using stack = new AsyncDisposableStack();
    const outside = stack.use(await Outside.attach(`atoll-test-${process.pid}-out`));
    const s3 = stack.use(await S3Server.start(outside, OUTSIDE[0]));
    await s3.makeBucket('data');
    // The uplink has come after the set-up.
    await promisify(execFile)(process.execPath, ['host/network/setup.ts']);
    const daemon = stack.use(await Daemon.start({ SERVICE_LOG_LEVEL: 'debug' }));
    const sandbox = stack.use(await createSandbox(daemon.client, { mem_size_mib: 768 }));
    return new MountLab(s3, daemon, sandbox, stack.move());
  }

  /** Another sandbox, which goes with the daemon. */
  again(): Promise<Sandbox> {
    return createSandbox(this.daemon.client, { mem_size_mib: 512 });
  }

  /** Asks for a mount, and checks that neither the answer nor the log has the keys in it. */
  async attempt(
    mount_path: string,
    more: object = {},
    on = this.sandbox,
  ): Promise<{ status: number; error?: string; code?: string; mount: Mount }> {
    const { endpoint, accessKey: access_key, secretKey: secret_key } = this.s3;
    const keys = { access_key, secret_key };
    const body = { bucket: 'data', endpoint, mount_path, ...keys, ...more };
    const { status, json, text } = await on.post('mounts', body);
    // What asks for a mount may bring keys of its own, also none.
    for (const key of [access_key, secret_key, body.access_key, body.secret_key].filter(Boolean)) {
      expect(text).not.toContain(key);
      expect(this.daemon.log.text()).not.toContain(key);
    }
    return { status, ...(json as { error?: string; code?: string }), mount: json as Mount };
  }

  async mount(mount_path: string, more?: object, on = this.sandbox): Promise<Mount> {
    const { status, error, mount } = await this.attempt(mount_path, more, on);
    if (status !== 200) throw new Error(`mount: ${status} ${error}`);
    return mount;
  }

  async list(of = this.sandbox): Promise<Mount[]> {
    const { json } = await this.daemon.client.call('GET', `${of.path}/mounts`);
    return (json as { mounts: Mount[] }).mounts;
  }

  unmount({ id }: Mount, of = this.sandbox) {
    return this.daemon.client.call('DELETE', `${of.path}/mounts/${id}`);
  }

  /** What mounts and attempts may leave in the guest. */
  traces(): Promise<string> {
    const files = 'ls /run/atoll/mounts /var/cache/atoll-mounts 2>/dev/null | grep -v :';
    return this.sandbox.sh(`${files}; pgrep -x rclone; grep fuse /proc/mounts || true`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync();
  }
}

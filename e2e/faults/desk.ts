import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Daemon, FAULTY, startRefused } from '../harness/daemon.ts';
import type { Env } from '../harness/daemon.ts';
import { machinePid } from '../harness/host.ts';
import { createSandbox, listSandboxes } from '../harness/sandbox.ts';
import type { Sandbox } from '../harness/sandbox.ts';
import { deleteSnapshots } from '../harness/snapshot.ts';
import { assertBooksEqualHost } from './ledger.ts';

export const SMALL = { mem_size_mib: 128, vcpu_count: 1 };

/** A daemon that can be made to go wrong (packages/daemon/src/testing/fault-driver.ts), and the next ones on its state directory. */
export class FaultDesk implements AsyncDisposable {
  #daemon: Daemon;
  readonly #dir: string;

  private constructor(daemon: Daemon) {
    this.#daemon = daemon;
    this.#dir = join(daemon.stateDir, 'faults');
  }

  static async start(env: Env = {}): Promise<FaultDesk> {
    const desk = new FaultDesk(await Daemon.start({ ...env, ATOLL_DAEMON: FAULTY }));
    // The daemon, who is another user, takes what it finds there away.
    await mkdir(desk.#dir);
    await chmod(desk.#dir, 0o777);
    return desk;
  }

  get daemon(): Daemon {
    return this.#daemon;
  }

  get client(): Daemon['client'] {
    return this.#daemon.client;
  }

  /** Has something happen at a point (packages/daemon/src/lib/fault-points.ts), to the first who passes it. */
  async strike(point: string, fault: string): Promise<void> {
    await writeFile(join(this.#dir, point), fault);
  }

  /** Points that nobody has passed since something was to happen there. */
  async waiting(): Promise<string[]> {
    return readdir(this.#dir);
  }

  /** Has nothing happen any more. */
  async disarm(): Promise<void> {
    for (const point of await readdir(this.#dir)) await rm(join(this.#dir, point), { force: true });
  }

  /** Has the daemon's clock be wrong by this, from now on. */
  async shiftClock(seconds: number): Promise<void> {
    await writeFile(join(this.#dir, 'clock'), String(seconds));
  }

  /** Stops the VM of a sandbox, as a person with a debugger does, or has it go on. */
  async signalVm({ id }: Sandbox, signal: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    process.kill(await machinePid(this.#daemon.stateDir, id), signal);
  }

  create(body: object = {}): Promise<Sandbox> {
    return createSandbox(this.client, { ...SMALL, ...body });
  }

  /** Starts the next daemon, once this one has ended. */
  async restart(env: Env = {}): Promise<void> {
    await this.#daemon.ended();
    this.#daemon = await this.#daemon.restart(env);
  }

  /** Starts a daemon, once this one has ended, that does not come to listen; answers how it ended. */
  startInVain(): ReturnType<typeof startRefused> {
    return startRefused({ ATOLL_DAEMON: FAULTY }, this.#daemon.stateDir);
  }

  /** Deletes what there is but these sandboxes, and checks that the host has nothing else. */
  async clear(...but: readonly Sandbox[]): Promise<void> {
    const kept = but.map(({ id }) => id);
    for (const { id } of await listSandboxes(this.client))
      if (!kept.includes(id)) await this.client.call('DELETE', `/sandboxes/${id}?keep=false`);
    await deleteSnapshots(this.client);
    await assertBooksEqualHost(this.#daemon);
    if ((await listSandboxes(this.client)).length > kept.length) throw new Error('a sandbox is left');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#daemon[Symbol.asyncDispose]();
  }
}

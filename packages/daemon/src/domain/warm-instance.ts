import { randomUUID } from 'node:crypto';
import type { Deadline } from '../lib/deadline.ts';
import type { Running, Sandbox } from './sandbox.ts';

/** A machine that was loaded from a snapshot and is paused: one step from going on. */
export interface Standby {
  /** Settles when its machine ends by itself, with how it did. Never rejects. */
  readonly exited: Promise<string>;
  /** Lets it go on, as this sandbox. When that fails nothing is left of it. */
  awaken(sandbox: Sandbox, env: Readonly<Record<string, string>>, deadline: Deadline): Promise<Running>;
  /** Ends it. Harmless after `awaken`. */
  dispose(): Promise<void>;
}

/** Loads the snapshot of a warm instance, and removes it when it is of no more use. */
export interface WarmSource {
  /** @param machineId the id that the sandbox will have which claims it. */
  load(snapshotId: string, machineId: string): Promise<Standby>;
  remove(snapshotId: string): Promise<void>;
}

/** An instance of a pool that no sandbox has claimed: a snapshot, and perhaps a machine loaded from it. */
export class WarmInstance {
  readonly snapshotId: string;
  /** Whoever claims it has this id: its machine's files go by it. */
  readonly sandboxId = randomUUID();
  readonly #source: WarmSource;
  #standby: Promise<Standby> | undefined;
  #isLoaded = false;

  constructor(snapshotId: string, source: WarmSource) {
    this.snapshotId = snapshotId;
    this.#source = source;
  }

  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Whether its machine is loaded, or being loaded. */
  get isLoading(): boolean {
    return this.#standby !== undefined;
  }

  /** Loads its machine, once; whoever asks later waits for the same. */
  load(): Promise<Standby> {
    this.#standby ??= this.#source.load(this.snapshotId, this.sandboxId).then((standby) => {
      this.#isLoaded = true;
      return standby;
    });
    return this.#standby;
  }

  /** Makes a sandbox of it. Its snapshot is of no more use then, whatever came of it. */
  async claim(sandbox: Sandbox, env: Readonly<Record<string, string>>, deadline: Deadline): Promise<Running> {
    const standby = await deadline.race(this.load());
    return standby.awaken(sandbox, env, deadline);
  }

  /** Ends its machine, if there is one; the snapshot stays. */
  async unload(): Promise<void> {
    const standby = await this.#standby?.catch(() => undefined);
    await standby?.dispose();
  }

  /** Ends its machine and removes its snapshot. */
  async discard(): Promise<void> {
    await this.unload();
    await this.#source.remove(this.snapshotId);
  }
}

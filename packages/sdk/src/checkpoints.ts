import { Atoll } from './atoll.ts';
import type { ConnectOptions } from './atoll.ts';
import type { CallOptions } from './deadline.ts';
import type { Checkpoint as CheckpointInfo, Pruned } from './generated/api.ts';
import { withFields } from './handle.ts';
import type { Handle } from './handle.ts';
import { Sandbox } from './sandbox.ts';
import type { RestoreOptions, SnapshotFilter } from './snapshots.ts';

/** A snapshot that was resumed, kept in the history: it can be restored any number of times. */
export class Checkpoint {
  readonly id: string;
  readonly #atoll: Atoll;

  private constructor(atoll: Atoll, id: string) {
    this.#atoll = atoll;
    this.id = id;
  }

  static async list(
    options: SnapshotFilter & ConnectOptions = {},
  ): Promise<Handle<Checkpoint, CheckpointInfo>[]> {
    const { source_sandbox_id, parent_snapshot_id, ...rest } = options;
    const atoll = Atoll.of(rest);
    const query = { source_sandbox_id, parent_snapshot_id } as { source_sandbox_id?: string };
    const { checkpoints } = await atoll.call('get', '/snapshots/history', { query, ...rest });
    return checkpoints.map((info) => withFields(new Checkpoint(atoll, info.id), info));
  }

  /** Removes what is beyond the daemon's limits on history; with `dry_run` only says what that is. */
  static async prune(
    options: ConnectOptions & { readonly dry_run?: boolean | undefined } = {},
  ): Promise<Pruned> {
    const { dry_run = false, ...rest } = options;
    return Atoll.of(rest).call('post', '/snapshots/history/prune', { body: { dry_run }, ...rest });
  }

  static async delete(id: string, options: ConnectOptions = {}): Promise<void> {
    await Atoll.of(options).call('delete', '/snapshots/history/{id}', { params: { id }, ...options });
  }

  /** As `Sandbox.restore`. */
  restore(options: RestoreOptions & CallOptions = {}): Promise<Sandbox> {
    return Sandbox.restore(this.id, { ...options, client: this.#atoll });
  }

  /** Whether the limits on history leave it alone. Answers how it is then. */
  pin(pinned: boolean, options: CallOptions = {}): Promise<CheckpointInfo> {
    const request = { params: { id: this.id }, body: { pinned }, ...options };
    return this.#atoll.call('patch', '/snapshots/history/{id}', request);
  }

  delete(options: CallOptions = {}): Promise<void> {
    return Checkpoint.delete(this.id, { ...options, client: this.#atoll });
  }
}

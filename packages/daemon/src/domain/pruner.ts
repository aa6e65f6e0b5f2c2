import type { Logger } from 'pino';
import { reasonOf } from '../lib/errors.ts';
import { lineagesOf, selectPrunable } from './retention.ts';
import type { Prunable, RetentionPolicy } from './retention.ts';
import type { SnapshotBook } from './snapshot-book.ts';
import type { Snapshots } from './snapshots.ts';
import { nowUnix } from './time.ts';

const CHECK_MS = 60_000;
const ALL = { sourceSandboxId: undefined, parentSnapshotId: undefined };

/** Keeps the history of checkpoints within its limits. */
export class Pruner {
  readonly #snapshots: Snapshots;
  readonly #book: SnapshotBook;
  readonly #policy: RetentionPolicy;
  readonly #log: Logger;
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<unknown> = Promise.resolve();

  constructor(snapshots: Snapshots, book: SnapshotBook, policy: RetentionPolicy, log: Logger) {
    this.#snapshots = snapshots;
    this.#book = book;
    this.#policy = policy;
    this.#log = log;
  }

  start(): void {
    const hasLimit = Object.values(this.#policy).some((limit) => limit !== undefined);
    if (!hasLimit) return;
    this.#timer = setInterval(() => {
      this.#work = this.#pruneQuietly();
    }, CHECK_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#work;
  }

  /** Removes what is beyond the limits, unless it is only to say what that would be. */
  async prune(dryRun: boolean): Promise<readonly Prunable[]> {
    const parents = new Map(this.#book.all().map(({ record }) => [record.id, record.parentSnapshotId]));
    const lineages = lineagesOf(parents);
    const checkpoints = (await this.#snapshots.listRetired(ALL)).map(
      ({ snapshot: { record }, sizeBytes }) => ({
        id: record.id,
        lineage: lineages.get(record.id) ?? record.id,
        retiredAtUnix: record.retiredAtUnix ?? 0,
        bytes: sizeBytes,
        pinned: record.pinned ?? false,
      }),
    );
    const prunable = selectPrunable(checkpoints, this.#policy, nowUnix());
    if (!dryRun) for (const { checkpoint, reason } of prunable) await this.#remove(checkpoint.id, reason);
    return prunable;
  }

  /** One that is gone meanwhile is as good as removed. */
  async #remove(id: string, reason: string): Promise<void> {
    if (!this.#book.isRetired(id)) return;
    await this.#snapshots.removeRetired(id);
    this.#log.info({ snapshot_id: id, limit: reason }, 'checkpoint pruned');
  }

  async #pruneQuietly(): Promise<void> {
    try {
      await this.prune(false);
    } catch (error) {
      this.#log.error({ reason: reasonOf(error) }, 'history not pruned');
    }
  }
}

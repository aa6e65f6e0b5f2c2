import type { Logger } from 'pino';
import { Deadline } from '../lib/deadline.ts';
import { AtollError, reasonOf } from '../lib/errors.ts';
import type { KeyedLock } from '../lib/keyed-lock.ts';
import type { SnapshotStore, StoredSnapshot } from '../ports/snapshots.ts';
import type { Leases } from './leases.ts';
import type { SnapshotBook } from './snapshot-book.ts';
import { nowUnix } from './time.ts';

// Gigabytes, packed by one processor at some hundred megabytes a second, to or from whatever disk that is.
const MOVE_MS = 30 * 60_000;

const CHECKS_A_TIMEOUT = 4;
const [SHORTEST_CHECK_MS, LONGEST_CHECK_MS] = [500, 60_000];
const [FIRST_PAUSE_SECS, LONGEST_PAUSE_SECS] = [2, 3600];

export interface ArchiverContext {
  readonly snapshots: SnapshotStore;
  readonly book: SnapshotBook;
  readonly leases: Leases;
  readonly locks: KeyedLock;
  readonly log: Logger;
}

/**
 * Puts held snapshots away that nobody has resumed for long, and brings back those that are wanted. What cannot be put away stays as
 * it is, and is tried again after a pause that doubles.
 */
export class Archiver {
  readonly #context: ArchiverContext;
  readonly #afterSecs: number | undefined;
  readonly #stop = new AbortController();
  /** When a snapshot was last of use, or is to be tried again, where that is later than its making. Unix seconds. */
  readonly #notBefore = new Map<string, { readonly at: number; readonly pause: number }>();
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<void> | undefined;

  /** @param afterSecs undefined: nothing is put away; what was is brought back all the same. */
  constructor(context: ArchiverContext, afterSecs: number | undefined) {
    this.#context = context;
    this.#afterSecs = afterSecs;
  }

  start(): void {
    if (this.#afterSecs === undefined) return;
    const every = (this.#afterSecs * 1000) / CHECKS_A_TIMEOUT;
    const ms = Math.min(LONGEST_CHECK_MS, Math.max(SHORTEST_CHECK_MS, every));
    this.#timer = setInterval(() => {
      // One at a time: packing takes a processor.
      this.#work ??= this.#archiveDue().finally(() => (this.#work = undefined));
    }, ms);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stop.abort(new Error('the daemon is shutting down'));
    await this.#work;
  }

  /** The snapshot with its files where they can be used. To be called under its lock. Throws RESTORE_FAILED. */
  async fetch(snapshot: StoredSnapshot, signal: AbortSignal): Promise<StoredSnapshot> {
    const { id, archivedAtUnix } = snapshot.record;
    if (archivedAtUnix === undefined) return snapshot;
    const { snapshots, book, log } = this.#context;
    using deadline = Deadline.in(MOVE_MS, 'the unpacking of the snapshot', signal);
    const fetched = await snapshots.unarchive(snapshot, deadline.signal).catch((error: unknown) => {
      signal.throwIfAborted();
      const reason = `it cannot be brought back from the archive: ${reasonOf(error)}`;
      throw AtollError.of('RESTORE_FAILED', { id, reason }, error);
    });
    book.enter(fetched);
    this.#notBefore.set(id, { at: nowUnix() + (this.#afterSecs ?? 0), pause: FIRST_PAUSE_SECS });
    log.info({ snapshot_id: id }, 'snapshot brought back from the archive');
    return fetched;
  }

  async #archiveDue(): Promise<void> {
    const { book } = this.#context;
    const held = book.listHeld({ sourceSandboxId: undefined, parentSnapshotId: undefined });
    for (const { record } of held) {
      if (this.#stop.signal.aborted) return;
      await this.#context.locks.run(record.id, () => this.#archive(record.id));
    }
  }

  async #archive(id: string): Promise<void> {
    const { snapshots, book, leases, log } = this.#context;
    if (!book.isHeld(id)) return;
    const snapshot = book.held(id);
    const { identity, archivedAtUnix, poolId, createdAtUnix } = snapshot.record;
    const due = Math.max(createdAtUnix + (this.#afterSecs ?? 0), this.#notBefore.get(id)?.at ?? 0);
    const isWanted = poolId !== undefined || leases.forkOf(identity, id) !== undefined;
    if (archivedAtUnix !== undefined || isWanted || nowUnix() < due) return;
    try {
      using deadline = Deadline.in(MOVE_MS, 'the packing of the snapshot', this.#stop.signal);
      book.enter(await snapshots.archive(snapshot, nowUnix(), deadline.signal));
      this.#notBefore.delete(id);
      log.info({ snapshot_id: id }, 'snapshot archived');
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      const pause = Math.min(
        LONGEST_PAUSE_SECS,
        2 * (this.#notBefore.get(id)?.pause ?? FIRST_PAUSE_SECS / 2),
      );
      this.#notBefore.set(id, { at: nowUnix() + pause, pause });
      log.error(
        { snapshot_id: id, retry_in_secs: pause, reason: reasonOf(error) },
        'snapshot not archived: it stays where it is',
      );
    }
  }
}

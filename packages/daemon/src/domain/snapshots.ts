import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { Deadline } from '../lib/deadline.ts';
import { AtollError } from '../lib/errors.ts';
import type { KeyedLock } from '../lib/keyed-lock.ts';
import type { StoredSnapshot } from '../ports/snapshots.ts';
import type { Archiver } from './archiver.ts';
import { capture } from './capture.ts';
import type { Drives } from './drives.ts';
import type { LaunchPorts } from './launch.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Registry } from './registry.ts';
import type { SnapshotBook, SnapshotQuery } from './snapshot-book.ts';
import type { Streams } from './streams.ts';

// A guest that writes out what its file systems hold back may have gigabytes of it.
const CAPTURE_MS = 5 * 60_000;

/** What taking snapshots and bringing them up share. */
export interface SnapshotContext {
  readonly ports: LaunchPorts;
  readonly registry: Registry;
  readonly lifecycle: Lifecycle;
  readonly streams: Streams;
  readonly drives: Drives;
  readonly book: SnapshotBook;
  readonly archiver: Archiver;
  /** One at a time for each snapshot. */
  readonly locks: KeyedLock;
  readonly log: Logger;
}

/** A snapshot or checkpoint as a list shows it. */
export interface ListedSnapshot {
  readonly snapshot: StoredSnapshot;
  /** Id of the live fork. */
  readonly forkedInto: string | undefined;
  readonly sizeBytes: number;
}

/** Takes snapshots, lists them and removes them. What comes out of them is in `restores.ts`. */
export class Snapshots {
  readonly #ports: LaunchPorts;
  readonly #registry: Registry;
  readonly #lifecycle: Lifecycle;
  readonly #streams: Streams;
  readonly #book: SnapshotBook;
  readonly #locks: KeyedLock;
  readonly #log: Logger;

  constructor({ ports, registry, lifecycle, streams, book, locks, log }: SnapshotContext) {
    this.#ports = ports;
    this.#registry = registry;
    this.#lifecycle = lifecycle;
    this.#streams = streams;
    this.#book = book;
    this.#locks = locks;
    this.#log = log;
  }

  /**
   * Makes a live sandbox a held snapshot and answers its id. Throws FORK_NOT_SNAPSHOTTABLE, and INSUFFICIENT_DISK or
   * SNAPSHOT_FAILED when it cannot be done: the sandbox goes on then.
   */
  async take(idOrName: string): Promise<string> {
    const { sandbox } = this.#registry.live(idOrName, 'be snapshotted');
    if (sandbox.isFork)
      throw AtollError.of('FORK_NOT_SNAPSHOTTABLE', {
        id: sandbox.id,
        snapshot: sandbox.parentSnapshotId ?? '',
      });
    return this.#lifecycle.track(this.#take(idOrName));
  }

  /** Stops a live sandbox and keeps it as a snapshot, whose id is the answer; undefined for a fork, which is not kept. */
  async stop(idOrName: string, destroy: (id: string) => Promise<void>): Promise<string | undefined> {
    const lost = this.#registry.lostId(idOrName);
    const fork = lost ?? this.#forkId(idOrName);
    if (fork === undefined) return this.take(idOrName);
    await destroy(fork);
    return undefined;
  }

  async listHeld(query: SnapshotQuery): Promise<ListedSnapshot[]> {
    return Promise.all(this.#book.listHeld(query).map((each) => this.#listed(each)));
  }

  async listRetired(query: SnapshotQuery): Promise<ListedSnapshot[]> {
    return Promise.all(this.#book.listRetired(query).map((each) => this.#listed(each)));
  }

  /** Removes a held snapshot, and ends its lease. Throws NOT_FOUND, or SNAPSHOT_FORKED under a live fork. */
  async remove(id: string): Promise<void> {
    await this.#locks.run(id, async () => {
      const { record } = this.#book.held(id);
      const fork = this.#ports.leases.forkOf(record.lease, id);
      if (fork !== undefined) throw AtollError.of('SNAPSHOT_FORKED', { id, fork, action: 'be deleted' });
      await this.#ports.snapshots.remove(id);
      this.#book.remove(id);
      this.#registry.dropName(record.name, id);
      await this.#ports.leases.drop(record.lease, `snapshot ${id}`);
    });
    this.#log.info({ snapshot_id: id }, 'snapshot deleted');
  }

  /** Removes a retired checkpoint. Throws NOT_FOUND. */
  async removeRetired(id: string): Promise<void> {
    await this.#locks.run(id, async () => {
      this.#book.retired(id);
      await this.#ports.snapshots.remove(id);
      this.#book.remove(id);
    });
    this.#log.info({ snapshot_id: id }, 'checkpoint deleted');
  }

  /** Has the limits on history leave a checkpoint alone, or not any more. Throws NOT_FOUND. */
  async pin(id: string, pinned: boolean): Promise<ListedSnapshot> {
    return this.#locks.run(id, async () => {
      const snapshot = await this.#ports.snapshots.pin(this.#book.retired(id), pinned);
      this.#book.enter(snapshot);
      return this.#listed(snapshot);
    });
  }

  async #take(idOrName: string): Promise<string> {
    const live = this.#registry.beginSnapshot(idOrName);
    const { sandbox, running } = live;
    const id = randomUUID();
    let stored: StoredSnapshot;
    try {
      using deadline = Deadline.in(CAPTURE_MS, 'the snapshot');
      stored = await capture(
        { ports: this.#ports, streams: this.#streams, log: this.#log },
        live,
        id,
        deadline,
      );
    } catch (error) {
      this.#lifecycle.goOn(live);
      throw error;
    }
    this.#ports.leases.claim(running.lease, `snapshot ${id}`);
    this.#registry.keepName(sandbox.name, id);
    this.#registry.endSnapshot(sandbox.id);
    this.#book.enter(stored);
    await this.#ports.atPoint('capture:committed');
    // Ended first: it is paused, and who gives back the rest of it would ask its guest in vain.
    await running.machine.stop();
    await this.#lifecycle.end(sandbox, running, { reason: 'snapshotted', finalSnapshotId: id });
    this.#log.info({ sandbox_id: sandbox.id, snapshot_id: id }, 'sandbox snapshotted');
    return id;
  }

  async #listed(snapshot: StoredSnapshot): Promise<ListedSnapshot> {
    const { id, lease } = snapshot.record;
    // One that is removed just now has no size any more.
    const sizeBytes = await this.#ports.snapshots.uniqueBytes(id).catch(() => 0);
    return { snapshot, forkedInto: this.#ports.leases.forkOf(lease, id), sizeBytes };
  }

  #forkId(idOrName: string): string | undefined {
    const { sandbox } = this.#registry.live(idOrName, 'be stopped');
    return sandbox.isFork ? sandbox.id : undefined;
  }
}

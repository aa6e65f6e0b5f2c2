import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { Deadline } from '../lib/deadline.ts';
import { AtollError, reasonOf } from '../lib/errors.ts';
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
  /** The longest that a capture may take: a guest may have gigabytes to write out. */
  readonly limits: { readonly captureTimeoutMs: number };
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
  readonly #drives: Drives;
  readonly #book: SnapshotBook;
  readonly #locks: KeyedLock;
  readonly #log: Logger;
  readonly #limits: SnapshotContext['limits'];

  constructor(context: SnapshotContext) {
    const { ports, registry, lifecycle, streams, drives, book, locks, log } = context;
    this.#ports = ports;
    this.#registry = registry;
    this.#lifecycle = lifecycle;
    this.#streams = streams;
    this.#drives = drives;
    this.#book = book;
    this.#locks = locks;
    this.#log = log;
    this.#limits = context.limits;
  }

  /**
   * Makes a live sandbox a held snapshot and answers its id; what is left of the sandbox ends behind that. Throws JAILED_NOT_SNAPSHOTTABLE,
   * FORK_NOT_SNAPSHOTTABLE, and INSUFFICIENT_DISK or
   * SNAPSHOT_FAILED when it cannot be done: the sandbox goes on then.
   */
  async take(idOrName: string): Promise<string> {
    const { sandbox } = this.#registry.live(idOrName, 'be snapshotted');
    if (sandbox.jailed) throw AtollError.of('JAILED_NOT_SNAPSHOTTABLE', { id: sandbox.id });
    if (sandbox.isFork)
      throw AtollError.of('FORK_NOT_SNAPSHOTTABLE', {
        id: sandbox.id,
        snapshot: sandbox.parentSnapshotId ?? '',
      });
    return this.#lifecycle.track(this.#take(idOrName));
  }

  /**
   * Stops a live sandbox and keeps it as a snapshot, whose id is the answer; undefined for a fork or a jailed one, which are not
   * kept. Nothing is left of the sandbox then.
   */
  async stop(idOrName: string, destroy: (id: string) => Promise<void>): Promise<string | undefined> {
    const lost = this.#registry.lostId(idOrName);
    const passing = lost ?? this.#idOfPassing(idOrName);
    if (passing === undefined) {
      const id = await this.take(idOrName);
      // The sandbox's end has it.
      return this.#locks.run(id, () => Promise.resolve(id));
    }
    await destroy(passing);
    return undefined;
  }

  async listHeld(query: SnapshotQuery): Promise<ListedSnapshot[]> {
    return Promise.all(this.#book.listHeld(query).map((each) => this.#listed(each)));
  }

  async listRetired(query: SnapshotQuery): Promise<ListedSnapshot[]> {
    return Promise.all(this.#book.listRetired(query).map((each) => this.#listed(each)));
  }

  /** Removes a held snapshot, and lets go of its network identity. Throws NOT_FOUND, or SNAPSHOT_FORKED under a live fork. */
  async remove(id: string): Promise<void> {
    await this.#locks.run(id, async () => {
      const { record } = this.#book.held(id);
      const fork = this.#ports.leases.forkOf(record.identity, id);
      if (fork !== undefined) throw AtollError.of('SNAPSHOT_FORKED', { id, fork, action: 'be deleted' });
      await this.#ports.snapshots.remove(id);
      this.#book.remove(id);
      this.#registry.dropName(record.name, id);
      this.#ports.leases.drop(record.identity, `snapshot ${id}`);
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
      using deadline = Deadline.in(this.#limits.captureTimeoutMs, 'the snapshot');
      stored = await capture(
        { ports: this.#ports, drives: this.#drives, streams: this.#streams, log: this.#log },
        live,
        id,
        deadline,
      );
    } catch (error) {
      this.#lifecycle.goOn(live);
      throw error;
    }
    this.#ports.leases.keep(running.lease, `snapshot ${id}`);
    this.#registry.keepName(sandbox.name, id);
    this.#registry.endSnapshot(sandbox.id);
    this.#book.enter(stored);
    try {
      await this.#ports.atPoint('capture:committed', { id: sandbox.id });
    } catch (error) {
      this.#log.error(
        { sandbox_id: sandbox.id, reason: reasonOf(error) },
        'went wrong behind a whole snapshot',
      );
    }
    const end = this.#lifecycle
      .end(sandbox, running, { reason: 'snapshotted', finalSnapshotId: id })
      .catch((error: unknown) => {
        this.#log.error({ sandbox_id: sandbox.id, reason: reasonOf(error) }, 'snapshotted sandbox not ended');
      });
    this.#ports.leases.leave(`sandbox ${sandbox.id}`, end);
    // Nobody waits for that but who does something with the snapshot: what it brings up has the drives and the identity again.
    void this.#locks.run(id, () => end);
    this.#log.info({ sandbox_id: sandbox.id, snapshot_id: id }, 'sandbox snapshotted');
    return id;
  }

  async #listed(snapshot: StoredSnapshot): Promise<ListedSnapshot> {
    const { id, identity } = snapshot.record;
    // One that is removed just now has no size any more.
    const sizeBytes = await this.#ports.snapshots.uniqueBytes(id).catch(() => 0);
    return { snapshot, forkedInto: this.#ports.leases.forkOf(identity, id), sizeBytes };
  }

  /** The id of a sandbox of which nothing can be kept. */
  #idOfPassing(idOrName: string): string | undefined {
    const { sandbox } = this.#registry.live(idOrName, 'be stopped');
    return sandbox.isFork || sandbox.jailed ? sandbox.id : undefined;
  }
}

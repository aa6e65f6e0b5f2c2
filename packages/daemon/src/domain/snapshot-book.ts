import { AtollError } from '../lib/errors.ts';
import type { StoredSnapshot } from '../ports/snapshots.ts';

/** What a list of snapshots may be asked for. */
export interface SnapshotQuery {
  readonly sourceSandboxId: string | undefined;
  readonly parentSnapshotId: string | undefined;
}

/** Which snapshots there are: held ones, and those that a resume retired. */
export class SnapshotBook {
  readonly #byId = new Map<string, StoredSnapshot>();

  /** Enters a snapshot, or what has become of it. */
  enter(snapshot: StoredSnapshot): void {
    this.#byId.set(snapshot.record.id, snapshot);
  }

  remove(id: string): void {
    this.#byId.delete(id);
  }

  /** A held snapshot. Throws NOT_FOUND, also for one that was resumed. */
  held(id: string): StoredSnapshot {
    return this.#find(id, 'snapshot', false);
  }

  isHeld(id: string): boolean {
    const found = this.#byId.get(id);
    return found !== undefined && !isRetired(found);
  }

  isRetired(id: string): boolean {
    const found = this.#byId.get(id);
    return found !== undefined && isRetired(found);
  }

  /** A retired checkpoint. Throws NOT_FOUND. */
  retired(id: string): StoredSnapshot {
    return this.#find(id, 'checkpoint', true);
  }

  all(): StoredSnapshot[] {
    return [...this.#byId.values()];
  }

  /** Oldest first. */
  listHeld(query: SnapshotQuery): StoredSnapshot[] {
    return this.#list(query, false);
  }

  /** In the order in which they were taken, oldest first. */
  listRetired(query: SnapshotQuery): StoredSnapshot[] {
    return this.#list(query, true);
  }

  #find(id: string, kind: 'snapshot' | 'checkpoint', retired: boolean): StoredSnapshot {
    const found = this.#byId.get(id);
    if (found === undefined || isRetired(found) !== retired) throw AtollError.of('NOT_FOUND', { kind, id });
    return found;
  }

  #list({ sourceSandboxId, parentSnapshotId }: SnapshotQuery, retired: boolean): StoredSnapshot[] {
    return [...this.#byId.values()].filter(
      (each) =>
        isRetired(each) === retired &&
        (sourceSandboxId === undefined || each.record.sourceSandboxId === sourceSandboxId) &&
        (parentSnapshotId === undefined || each.record.parentSnapshotId === parentSnapshotId),
    );
  }
}

function isRetired({ record }: StoredSnapshot): boolean {
  return record.retiredAtUnix !== undefined;
}

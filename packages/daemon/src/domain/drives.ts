import { randomUUID } from 'node:crypto';
import type { CreateDrive } from '@atoll/contract/drives';
import type { Logger } from 'pino';
import { AtollError } from '../lib/errors.ts';
import type { GuestDrive } from '../ports/agent.ts';
import type { DriveStore, StoredDrive } from '../ports/drives.ts';
import { NoSpace } from '../ports/snapshots.ts';
import type { SavedDrive, SnapshotRecord } from '../ports/snapshots.ts';
import type { MachineDrive } from '../ports/vmm.ts';
import type { DriveHolder, Holders } from './holders.ts';
import type { Attachment } from './sandbox.ts';

// QEMU cuts a SCSI disk's serial number off at 20 characters where it makes the disk's identifier of it; an ext4 label has 16.
const SERIAL_DIGITS = 20;
const LABEL_DIGITS = 8;

/** A drive with who holds it. */
export interface Drive extends StoredDrive {
  readonly heldBy: readonly DriveHolder[];
}

/** Makes, lists and removes drives, and decides who may attach them. */
export class Drives {
  readonly #store: DriveStore;
  readonly #holders: Holders;
  readonly #log: Logger;
  readonly #drives: Map<string, StoredDrive>;

  private constructor(store: DriveStore, holders: Holders, log: Logger, drives: Map<string, StoredDrive>) {
    this.#store = store;
    this.#holders = holders;
    this.#log = log;
    this.#drives = drives;
  }

  static async open(store: DriveStore, holders: Holders, log: Logger): Promise<Drives> {
    const drives = await store.load();
    return new Drives(store, holders, log, new Map(drives.map((drive) => [drive.id, drive])));
  }

  /** Makes an empty drive. Throws INSUFFICIENT_DISK. */
  async create({ size_mib: sizeMib }: CreateDrive, signal: AbortSignal): Promise<Drive> {
    try {
      const id = randomUUID();
      const drive = await this.#store.create({ id, label: labelOf(id), sizeMib }, signal);
      this.#drives.set(drive.id, drive);
      this.#log.info({ drive_id: drive.id, size_mib: sizeMib }, 'drive created');
      return { ...drive, heldBy: [] };
    } catch (error) {
      if (!(error instanceof NoSpace)) throw error;
      const { needBytes, freeBytes, path } = error;
      throw AtollError.of('INSUFFICIENT_DISK', { needBytes, freeBytes, path }, error);
    }
  }

  /** Oldest first. */
  list(): Drive[] {
    return [...this.#drives.values()].map((drive) => ({ ...drive, heldBy: this.#holders.ofDrive(drive.id) }));
  }

  /** Throws NOT_FOUND, or DRIVE_IN_USE while anything holds it. */
  async remove(id: string): Promise<void> {
    const drive = this.#find(id);
    const holders = this.#holders.ofDrive(id).map(({ holder }) => holder);
    if (holders.length > 0) throw AtollError.of('DRIVE_IN_USE', { id, holders });
    // Gone from here first: a create that comes now does not find it any more.
    this.#drives.delete(id);
    await this.#store.remove(drive);
    this.#log.info({ drive_id: id }, 'drive removed');
  }

  /**
   * Throws when these may not be attached now: NOT_FOUND, INVALID_REQUEST for one twice, DRIVE_CONFLICT. Whoever is told that they
   * may has to hold them before it waits for anything. `except` holds them already and gives them over.
   */
  assertFree(attachments: readonly Attachment[], except?: string): void {
    for (const [place, { id, readOnly }] of attachments.entries()) {
      this.#find(id);
      if (attachments.findIndex((other) => other.id === id) < place)
        throw AtollError.of('INVALID_REQUEST', { field: `drives.${place}.id`, problem: `names ${id} twice` });
      const holders = this.#holders.ofDrive(id).filter(({ holder }) => holder !== except);
      if (holders.length === 0 || (readOnly && holders.every((one) => one.readOnly))) continue;
      throw AtollError.of('DRIVE_CONFLICT', { id, holders, readOnly });
    }
  }

  /**
   * Throws DRIVE_NEEDS_RECOVERY for one that is to be read although its last writer was cut off. Only a guest that may write can
   * mend that, and no program of the host is to read what a guest made.
   */
  async assertReadable(attachments: readonly Attachment[]): Promise<void> {
    for (const { id, readOnly } of attachments) {
      if (readOnly && (await this.#store.needsRecovery(this.#find(id))))
        throw AtollError.of('DRIVE_NEEDS_RECOVERY', { id });
    }
  }

  /** What a snapshot keeps of them. */
  async marked(attachments: readonly Attachment[]): Promise<SavedDrive[]> {
    const marks = attachments.map(async ({ id, readOnly }) => {
      return { id, readOnly, contentMark: await this.#store.contentMark(this.#find(id)) };
    });
    return Promise.all(marks);
  }

  /**
   * Throws SNAPSHOT_INCOMPATIBLE when a drive was written since the snapshot was taken. Its guest knows the file system as it was
   * then: going by that it would read what is no file of that name any more, and destroy the file system if it may write.
   */
  async assertAsSaved({ id, drives }: Pick<SnapshotRecord, 'id' | 'drives'>): Promise<void> {
    const actual = await this.marked(drives);
    const changed = drives.find(({ contentMark }, at) => contentMark !== actual[at]?.contentMark);
    if (changed === undefined) return;
    throw AtollError.of('SNAPSHOT_INCOMPATIBLE', {
      ...{ id, what: `drive ${changed.id}`, recorded: 'what it held then', actual: 'written since' },
    });
  }

  /** What a machine is given for them. */
  forMachine(attachments: readonly Attachment[]): MachineDrive[] {
    return attachments.map(({ id, readOnly }) => ({
      path: this.#find(id).path,
      serial: serialOf(id),
      readOnly,
    }));
  }

  #find(id: string): StoredDrive {
    const drive = this.#drives.get(id);
    if (drive === undefined) throw AtollError.of('NOT_FOUND', { kind: 'drive', id });
    return drive;
  }
}

/** What a guest is told of them. */
export function forGuest(attachments: readonly Attachment[]): GuestDrive[] {
  return attachments.map(({ id, readOnly }) => ({
    id,
    serial: serialOf(id),
    label: labelOf(id),
    readOnly,
  }));
}

function serialOf(id: string): string {
  return id.replaceAll('-', '').slice(0, SERIAL_DIGITS);
}

function labelOf(id: string): string {
  return `drive-${id.slice(0, LABEL_DIGITS)}`;
}

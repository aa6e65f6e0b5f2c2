import type { Mount } from './mount.ts';
import type { EgressPolicy, NetworkIdentity } from './network.ts';
import type { RateLimit } from './rate-limit.ts';
import type { MachineFiles } from './storage.ts';
import type { VmmProfile } from './vmm.ts';

/** A drive that a snapshot's guest has, and goes by what it remembers of. */
export interface SavedDrive {
  readonly id: string;
  readonly readOnly: boolean;
  /** `contentMark` when the snapshot was taken. */
  readonly contentMark: string;
}

/** What a snapshot was taken of, and what a restore of it needs to be safe. Times are seconds since 1970. */
export interface SnapshotRecord {
  readonly id: string;
  readonly createdAtUnix: number;
  /** When a resume retired it into history; undefined for a held snapshot. */
  readonly retiredAtUnix: number | undefined;
  /** Whether the limits on history leave it alone. */
  readonly pinned?: boolean | undefined;
  /** When its state and memory were put away, packed; undefined: they are where they can be used. */
  readonly archivedAtUnix?: number | undefined;
  readonly sourceSandboxId: string;
  /** The snapshot that the source sandbox itself came from. */
  readonly parentSnapshotId: string | undefined;
  readonly name: string | undefined;
  readonly tags: Readonly<Record<string, string>>;
  readonly vcpuCount: number;
  readonly memSizeMib: number;
  readonly egress: EgressPolicy | undefined;
  /** Undefined: its disk stands on the default root file system. */
  readonly imageId: string | undefined;
  readonly rateLimit: RateLimit | undefined;
  /** Buckets that its guest has mounted. */
  readonly mounts: readonly Mount[];
  readonly drives: readonly SavedDrive[];
  /** The pool that keeps it warm. Its network identity is not kept for it then: whoever claims it gets an identity of his own. */
  readonly poolId?: string | undefined;
  /** Who its guest is on the network. */
  readonly identity: NetworkIdentity;
  readonly vmm: VmmProfile;
  /** Generation of the protocol that the agent inside speaks. */
  readonly agentGeneration: number;
}

/** A snapshot that is whole on disk. */
export interface StoredSnapshot {
  readonly record: SnapshotRecord;
  /** The device state, for the VM monitor. */
  readonly state: string;
  /** The memory file, never written again; undefined when the memory is in the state. */
  readonly memory: string | undefined;
}

/** A snapshot in the making. Nothing of it counts before `commit`. */
export interface SnapshotDraft {
  /** Where the device state is to be written. */
  readonly state: string;
  /** What was found to be free for it. */
  readonly needBytes: number;
  /**
   * Takes over the machine's memory and disk, whose paths are then another's, and makes the snapshot count, as the last step and
   * in one. `memoryInState`: the machine has no memory file, the state holds it.
   */
  commit(record: SnapshotRecord, memoryInState: boolean): Promise<StoredSnapshot>;
  /** Gives the machine its files back and removes the rest. Not to be called after a commit that succeeded. */
  discard(): Promise<void>;
}

/** What a start finds of earlier runs. */
export interface FoundSnapshots {
  /** Oldest first. */
  readonly whole: readonly StoredSnapshot[];
  /** Those that cannot be read, and where they were put aside. */
  readonly damaged: readonly { readonly id: string; readonly reason: string; readonly movedTo: string }[];
  /** Ids of those that were never finished and are gone now. */
  readonly halfMade: readonly string[];
}

/** Something in a snapshot that is not as its record says. */
export interface SnapshotFault {
  readonly what: string;
  readonly recorded: string;
  readonly actual: string;
}

/** A memory file that is there at its size, and may be mapped, but not read before it is filled. */
export interface MemoryCopy {
  /** Rejects when the copy fails or its signal aborts. */
  readonly filled: Promise<void>;
}

/** Keeps complete states of machines. Disks are shared between them as far as they are the same. */
export interface SnapshotStore {
  readonly snapshotsDir: string;
  /** Reads what there is. To be called once, before all else, when no machine runs. */
  recover(signal: AbortSignal): Promise<FoundSnapshots>;
  /**
   * Begins the snapshot of a machine. Rejects with NoSpace when what has to be written would not fit. `memoryInStateMib`: how much
   * memory the state may hold, 0 when there is a memory file.
   */
  draft(id: string, machineId: string, memoryInStateMib: number, signal: AbortSignal): Promise<SnapshotDraft>;
  /** Notes that a snapshot was retired. */
  retire(snapshot: StoredSnapshot, retiredAtUnix: number): Promise<StoredSnapshot>;
  /** Notes whether the limits on history leave it alone. */
  pin(snapshot: StoredSnapshot, pinned: boolean): Promise<StoredSnapshot>;
  /** Puts its state and memory away, packed: both or neither. */
  archive(snapshot: StoredSnapshot, archivedAtUnix: number, signal: AbortSignal): Promise<StoredSnapshot>;
  /** Brings them back. When it rejects they are where they were. */
  unarchive(snapshot: StoredSnapshot, signal: AbortSignal): Promise<StoredSnapshot>;
  /**
   * What is missing or not whole; undefined when nothing is. Memory is looked at by its size alone. Rejects when the host has nothing left
   * to look with.
   */
  findFault(snapshot: StoredSnapshot, signal: AbortSignal): Promise<SnapshotFault | undefined>;
  /** Makes a machine's directory and its root disk, a copy-on-write layer over the snapshot's. Leaves nothing when it fails. */
  createMachine(id: string, snapshot: StoredSnapshot, signal: AbortSignal): Promise<MachineFiles>;
  /** Begins the copy of a snapshot's memory into a new file. */
  copyMemory(snapshot: StoredSnapshot, to: string, signal: AbortSignal): Promise<MemoryCopy>;
  /** Removes the directory of a machine made here. Harmless when it is gone. */
  removeMachine(id: string): Promise<void>;
  /** Removes a snapshot and what of its disk nobody else stands on. Harmless when it is gone. */
  remove(id: string): Promise<void>;
  /** Bytes that a removal of it would give back now. */
  uniqueBytes(id: string): Promise<number>;
  freeBytes(): Promise<number>;
}

/** What has to be written does not fit. */
export class NoSpace extends Error {
  override readonly name = 'NoSpace';
  readonly needBytes: number;
  readonly freeBytes: number;
  readonly path: string;
  constructor(path: string, needBytes: number, freeBytes: number) {
    super(`${needBytes} bytes are needed under ${path}, ${freeBytes} are free`);
    this.path = path;
    this.needBytes = needBytes;
    this.freeBytes = freeBytes;
  }
}

/** A disk that outlives sandboxes: an ext4 file system. */
export interface StoredDrive {
  readonly id: string;
  readonly sizeMib: number;
  readonly createdAtUnix: number;
  /** The raw file, absolute. */
  readonly path: string;
}

/** What a drive is made with. */
export interface NewDrive {
  readonly id: string;
  /** Of its file system: up to 16 characters. */
  readonly label: string;
  readonly sizeMib: number;
}

/** Keeps drives. */
export interface DriveStore {
  readonly drivesDir: string;
  /** What there is, oldest first. What a creation that was cut off left is removed. To be called before all else. */
  load(): Promise<readonly StoredDrive[]>;
  /**
   * Makes an empty drive, of which room is taken as it is written. Rejects with NoSpace when not even that much is there; leaves
   * nothing when it fails.
   */
  create(drive: NewDrive, signal: AbortSignal): Promise<StoredDrive>;
  /** Whether its last writer was cut off, so that its journal has to be replayed before it can be read. */
  needsRecovery(drive: StoredDrive): Promise<boolean>;
  /** A mark of its content: the same until something is written to it. */
  contentMark(drive: StoredDrive): Promise<string>;
  /** Harmless when it is gone. */
  remove(drive: StoredDrive): Promise<void>;
}

/** Where one machine's files live. Paths are absolute. */
export interface MachineFiles {
  readonly dir: string;
  /** The root disk: a writable layer over the base, which stays as it is. */
  readonly rootDisk: string;
  /** Where its memory goes; not there before it is booted or filled. */
  readonly memory: string;
}

/** Keeps the files of machines. */
export interface Storage {
  /** The directory that holds one directory per machine, named by the sandbox's id. */
  readonly machinesDir: string;
  /**
   * Makes a machine's directory and its root disk, a copy-on-write layer over the base, or over this raw root file system. Leaves
   * nothing when it fails.
   */
  createMachine(id: string, signal: AbortSignal, rootfs?: string): Promise<MachineFiles>;
  /** Removes a machine's directory with all in it. Harmless when it is gone. */
  removeMachine(id: string): Promise<void>;
  /** Ids of the machines that have a directory. */
  listMachines(): Promise<readonly string[]>;
  /** Bytes that can still be written. */
  freeBytes(): Promise<number>;
}

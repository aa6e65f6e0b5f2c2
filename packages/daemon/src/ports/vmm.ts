import type { Deadline } from '../lib/deadline.ts';
import type { RateLimit } from './rate-limit.ts';

/** What runs the guest's instructions: the processor (kvm) or QEMU's own emulator (tcg). */
export type Accelerator = 'kvm' | 'tcg';

/** A network card: the host's tap device it is plugged into, and its address. */
export interface Nic {
  readonly tap: string;
  readonly mac: string;
}

/** A further disk, raw: what the guest writes to it and flushes is durable. */
export interface MachineDrive {
  readonly path: string;
  /** What the guest knows it by: up to 20 characters. */
  readonly serial: string;
  readonly readOnly: boolean;
}

/** What a machine is made of. Paths are absolute, sizes in MiB. */
export interface MachineSpec {
  /** The sandbox's id; names the process. */
  readonly id: string;
  /** A directory of this machine's own: sockets and memory live here, and go with it. */
  readonly dir: string;
  /** The root disk, qcow2. */
  readonly rootDisk: string;
  /** The guest's memory, a sparse file of this machine's own; made when it is missing. */
  readonly memory: string;
  readonly vcpuCount: number;
  readonly memSizeMib: number;
  /** Undefined: the machine has no network. */
  readonly nic?: Nic | undefined;
  /** In any order: the guest tells them apart by their serial numbers. */
  readonly drives?: readonly MachineDrive[] | undefined;
  /** Of each disk on its own. */
  readonly rateLimit?: RateLimit | undefined;
}

/** What a snapshot has to match, since a saved state belongs to what made it. */
export interface VmmProfile {
  /** Program and version of the monitor. */
  readonly monitor: string;
  readonly accelerator: Accelerator;
  /** Model of the guest's processor; with KVM it is the host's own. */
  readonly cpu: string;
  /** SHA-256 of the guest's kernel, hexadecimal. */
  readonly kernel: string;
}

/** What a machine is loaded from. */
export interface SavedState {
  /** The file that `save` wrote. */
  readonly file: string;
  /** Whether the memory is in that file too. Otherwise it has to be in the machine's own memory file, or in the frozen one. */
  readonly holdsMemory: boolean;
}

/** One VM. */
export interface Machine {
  /** Host process id of the VM monitor. */
  readonly pid: number;
  /** Unix socket that reaches the guest agent's serial port; one connection at a time. */
  readonly agentSocket: string;
  /** Settles once, when the VM has ended for whatever reason, with how it did, as a clause for a message. Never rejects. */
  readonly exited: Promise<string>;
  /** The last lines of the guest's console and of the monitor's own complaints; still there when the machine has ended. */
  console(): string;
  /** Stops the guest's processors, and lets them go on. Both are harmless when it is so already. */
  pause(deadline: Deadline): Promise<void>;
  resume(deadline: Deadline): Promise<void>;
  /**
   * Writes the state of a paused machine to a new file and answers whether the memory is in there, or is all in the machine's
   * memory file. The disk is complete then. The machine stays paused and can be resumed, or stopped. Between its pause and its
   * end nobody may be connected to its agent: a reader would let it change the memory that was saved.
   */
  save(file: string, deadline: Deadline): Promise<{ holdsMemory: boolean }>;
  /**
   * Brings a prepared machine to a saved state, in which it is paused. Whoever wants to talk to the guest's agent connects before
   * this: a port that is connected later may stay dead.
   */
  load(state: SavedState, deadline: Deadline): Promise<void>;
  /** Takes the limits off its drives for good: what is held back for them can be written as fast as the host can. */
  liftDriveLimits(deadline: Deadline): Promise<void>;
  /** Ends the VM at once and waits until its process is gone. Harmless when it has ended already. */
  stop(): Promise<void>;
}

/** Drives virtual machines. */
export interface Vmm {
  /** What machines run on; found out once, at the start. */
  readonly profile: VmmProfile;
  /** Whether machines run in jails. Such a machine is not saved, and takes no frozen memory. */
  readonly jailed: boolean;
  /**
   * Starts a machine and answers when its monitor does; the guest is still booting then. Rejects, with nothing left
   * running, when the monitor cannot be started or ends early.
   */
  boot(spec: MachineSpec, deadline: Deadline): Promise<Machine>;
  /**
   * Starts a machine that waits for `load`. With `frozenMemory`, the file of a snapshot, it takes its memory from there and keeps
   * its own changes to itself. Without, its memory file is filled before the load.
   */
  prepare(spec: MachineSpec, frozenMemory: string | undefined, deadline: Deadline): Promise<Machine>;
  /** Ends every machine that lives below this directory, left behind by an earlier run. Answers their process ids. */
  reclaim(machinesDir: string): Promise<readonly number[]>;
}

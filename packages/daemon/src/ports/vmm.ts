import type { Deadline } from '../lib/deadline.ts';

/** What runs the guest's instructions: the processor (kvm) or QEMU's own emulator (tcg). */
export type Accelerator = 'kvm' | 'tcg';

/** A network card: the host's tap device it is plugged into, and its address. */
export interface Nic {
  readonly tap: string;
  readonly mac: string;
}

/** What a machine is made of. Paths are absolute, sizes in MiB. */
export interface MachineSpec {
  /** The sandbox's id; names the process. */
  readonly id: string;
  /** A directory of this machine's own: sockets and memory live here, and go with it. */
  readonly dir: string;
  /** The root disk, qcow2. */
  readonly rootDisk: string;
  readonly vcpuCount: number;
  readonly memSizeMib: number;
  /** Undefined: the machine has no network. */
  readonly nic?: Nic | undefined;
}

/** One running VM. */
export interface Machine {
  /** Host process id of the VM monitor. */
  readonly pid: number;
  /** Unix socket that reaches the guest agent's serial port; one connection at a time. */
  readonly agentSocket: string;
  /** Settles once, when the VM has ended for whatever reason, with how it did, as a clause for a message. Never rejects. */
  readonly exited: Promise<string>;
  /** The last lines of the guest's console and of the monitor's own complaints; still there when the machine has ended. */
  console(): string;
  /** Ends the VM at once and waits until its process is gone. Harmless when it has ended already. */
  stop(): Promise<void>;
}

/** Drives virtual machines. */
export interface Vmm {
  /** What machines run on; found out once, at the start. */
  readonly accelerator: Accelerator;
  /**
   * Starts a machine and answers when its monitor does; the guest is still booting then. Rejects, with nothing left
   * running, when the monitor cannot be started or ends early.
   */
  boot(spec: MachineSpec, deadline: Deadline): Promise<Machine>;
  /** Ends every machine that lives below this directory, left behind by an earlier run. Answers their process ids. */
  reclaim(machinesDir: string): Promise<readonly number[]>;
}

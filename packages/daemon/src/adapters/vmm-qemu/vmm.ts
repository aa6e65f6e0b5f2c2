import type { Deadline } from '../../lib/deadline.ts';
import { Child } from '../../lib/child.ts';
import { Ring } from '../../lib/ring.ts';
import type { Accelerator, Machine, MachineSpec, Vmm, VmmProfile } from '../../ports/vmm.ts';
import { detectAccelerator, hostTscKhz } from './accelerator.ts';
import { machineArgs, qemuBinary } from './argv.ts';
import type { GuestSettings, Origin } from './argv.ts';
import { QemuMachine } from './machine.ts';
import { profileOf } from './profile.ts';
import { killMachines } from './reclaim.ts';

// Newest part of the guest's console that is kept per machine.
const CONSOLE_BYTES = 64 * 1024;

/** What the adapter is told. Paths are absolute. */
export interface QemuOptions {
  readonly kernel: string;
  readonly initramfs: string;
  /** `auto` tries KVM with a tiny guest and falls back to emulation. */
  readonly accelerator: Accelerator | 'auto';
  /** Where the outcome of that trial is remembered. */
  readonly stateDir: string;
}

/** Runs each machine as a QEMU process of its own: microvm machine type, QEMU 7.2 or later. */
export class QemuVmm implements Vmm {
  readonly #guest: GuestSettings;
  readonly profile: VmmProfile;

  /** Why machines are emulated although KVM was looked for. */
  readonly kvmFault: string | undefined;

  private constructor(guest: GuestSettings, profile: VmmProfile, kvmFault: string | undefined) {
    this.#guest = guest;
    this.profile = profile;
    this.kvmFault = kvmFault;
  }

  /** Finds out what guests can run on. Rejects when KVM is demanded and does not work. */
  static async create(options: QemuOptions, deadline: Deadline): Promise<QemuVmm> {
    const { kernel, initramfs } = options;
    const { accelerator, kvmFault } = await detectAccelerator(
      options.accelerator,
      kernel,
      options.stateDir,
      deadline.signal,
    );
    const profile = await profileOf(accelerator, kernel, deadline.signal);
    return new QemuVmm({ kernel, initramfs, accelerator, tscKhz: await hostTscKhz() }, profile, kvmFault);
  }

  boot(spec: MachineSpec, deadline: Deadline): Promise<Machine> {
    return this.#start(spec, { incoming: false }, deadline);
  }

  prepare(spec: MachineSpec, frozenMemory: string | undefined, deadline: Deadline): Promise<Machine> {
    return this.#start(spec, { incoming: true, frozenMemory }, deadline);
  }

  async #start(spec: MachineSpec, origin: Origin, deadline: Deadline): Promise<Machine> {
    deadline.signal.throwIfAborted();
    const console = new Ring(CONSOLE_BYTES);
    const child = await Child.spawn(qemuBinary(), machineArgs(spec, this.#guest, origin), {
      cwd: spec.dir,
      onOutput: (chunk) => console.push(chunk),
    });
    try {
      const ownMemory = origin.frozenMemory === undefined;
      return await QemuMachine.attach({ child, console, dir: spec.dir, ownMemory }, deadline);
    } catch (error) {
      await child.kill();
      throw error;
    }
  }

  reclaim(machinesDir: string): Promise<readonly number[]> {
    return killMachines(machinesDir);
  }
}

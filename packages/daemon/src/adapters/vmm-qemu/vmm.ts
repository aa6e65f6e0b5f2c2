import type { Deadline } from '../../lib/deadline.ts';
import { Child } from '../../lib/child.ts';
import { Ring } from '../../lib/ring.ts';
import type { Accelerator, Machine, MachineSpec, Vmm, VmmProfile } from '../../ports/vmm.ts';
import { detectAccelerator, hostTscKhz } from './accelerator.ts';
import { machineArgs, qemuBinary } from './argv.ts';
import type { GuestSettings, Origin } from './argv.ts';
import { Jail } from './jail/jail.ts';
import type { JailOptions } from './jail/jail.ts';
import { FD } from './jail/plan.ts';
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
  /** Undefined: machines run as the daemon's own user, with its view of the host. */
  readonly jail?: Omit<JailOptions, 'accelerator' | 'monitor' | 'stateDir'> | undefined;
  /** Hears of what is left of a machine that ended. */
  readonly onFault?: ((id: string, error: unknown) => void) | undefined;
}

/** How a monitor is started, and what is to be done once it has ended. */
interface Place {
  readonly command: readonly string[];
  release(): Promise<void>;
}

/** Runs each machine as a QEMU process of its own: microvm machine type, QEMU 7.2 or later. */
export class QemuVmm implements Vmm {
  readonly #guest: GuestSettings;
  readonly profile: VmmProfile;

  /** Why machines are emulated although KVM was looked for. */
  readonly kvmFault: string | undefined;
  readonly #jail: Jail | undefined;
  readonly #onFault: (id: string, error: unknown) => void;

  private constructor(
    guest: GuestSettings,
    profile: VmmProfile,
    { kvmFault, jail, onFault = () => undefined }: Pick<QemuOptions, 'onFault'> & Found,
  ) {
    this.#guest = guest;
    this.profile = profile;
    this.kvmFault = kvmFault;
    this.#jail = jail;
    this.#onFault = onFault;
  }

  get jailed(): boolean {
    return this.#jail !== undefined;
  }

  /** Finds out what guests can run on. Rejects when KVM is demanded and does not work, and when jails are and cannot be made. */
  static async create(options: QemuOptions, deadline: Deadline): Promise<QemuVmm> {
    const { kernel, initramfs } = options;
    const { accelerator, kvmFault } = await detectAccelerator(
      options.accelerator,
      kernel,
      options.stateDir,
      deadline.signal,
    );
    const profile = await profileOf(accelerator, kernel, deadline.signal);
    const jail =
      options.jail &&
      (await Jail.open(
        { ...options.jail, accelerator, monitor: qemuBinary(), stateDir: options.stateDir },
        deadline.signal,
      ));
    const guest = { kernel, initramfs, accelerator, tscKhz: await hostTscKhz() };
    return new QemuVmm(guest, profile, { kvmFault, jail, onFault: options.onFault });
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
    const place = await this.#placeFor(spec, origin);
    await using stack = new AsyncDisposableStack();
    stack.defer(() => place.release());
    const [file = '', ...args] = place.command;
    const child = await Child.spawn(file, args, {
      cwd: spec.dir,
      onOutput: (chunk) => console.push(chunk),
      confinesItself: this.jailed,
      channel: this.jailed && origin.incoming,
    });
    stack.defer(() => child.kill());
    const ownMemory = origin.frozenMemory === undefined;
    const drives = spec.drives?.length ?? 0;
    const release = () => place.release().catch((error: unknown) => this.#onFault(spec.id, error));
    const qemu = { child, console, dir: spec.dir, ownMemory, drives, release };
    const machine = await QemuMachine.attach(qemu, deadline);
    stack.move();
    return machine;
  }

  /** All that a jail changes about a start is here. */
  async #placeFor(spec: MachineSpec, origin: Origin): Promise<Place> {
    if (this.#jail === undefined)
      return { command: [qemuBinary(), ...machineArgs(spec, this.#guest, origin)], release: nothing };
    if (origin.frozenMemory !== undefined)
      throw new Error('a jailed machine maps no memory but its own: QEMU would have to be let write to it');
    return this.#jail.admit(spec, machineArgs(spec, this.#guest, { ...origin, handed: FD }));
  }

  async reclaim(machinesDir: string): Promise<readonly number[]> {
    const pids = await killMachines(machinesDir);
    await this.#jail?.sweep();
    return pids;
  }
}

interface Found {
  readonly kvmFault: string | undefined;
  readonly jail: Jail | undefined;
}

function nothing(): Promise<void> {
  return Promise.resolve();
}

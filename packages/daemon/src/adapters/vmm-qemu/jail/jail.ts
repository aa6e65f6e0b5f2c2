import { chmod, mkdir, stat, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { HostFaults, reasonOf } from '../../../lib/errors.ts';
import { run } from '../../../lib/run.ts';
import type { Accelerator, MachineSpec } from '../../../ports/vmm.ts';
import { JAILED_TB_MIB, MACHINE_FILES } from '../argv.ts';
import { CgroupTree, diskOf } from './cgroups.ts';
import { openDisks } from './disks.ts';
import { cgroupLimits, resourceLimits } from './limits.ts';
import type { JailAllowance } from './limits.ts';
import { jailCommand } from './plan.ts';
import type { Binding, JailPlan } from './plan.ts';
import { filesOfPrograms, findProgram } from './programs.ts';
import { examineHost, KVM_DEVICE } from './requirements.ts';
import type { Provided } from './requirements.ts';
import { seccompFilter } from './seccomp.ts';
import { Numbers } from './subids.ts';

export interface JailOptions {
  /** How many machines live at a time at most. */
  readonly machines: number;
  readonly allowance: JailAllowance;
  /** Undefined: the one that the daemon was started in. */
  readonly cgroup: string | undefined;
  /** Where machines' files lie, drives and images: closed to all but the daemon. */
  readonly closedDirs: readonly string[];
  readonly stateDir: string;
  readonly accelerator: Accelerator;
  /** What every machine reads, by the variable that names it. */
  readonly files: Readonly<Record<string, string>>;
  /** The monitor's program. */
  readonly monitor: string;
}

/** A place that was made for one machine. */
export interface Cell {
  /** The command line that runs the monitor in it. */
  readonly command: readonly string[];
  /** Ends what may still run in it, and gives back what it took. */
  release(): Promise<void>;
}

const TRIAL = 'trial';

/** Makes jails: for each machine a user, a cgroup, namespaces and a root of its own, by a daemon that is not root. */
export class Jail {
  readonly #options: JailOptions;
  readonly #provided: Provided;
  readonly #tree: CgroupTree;
  readonly #numbers: Numbers;
  readonly #filter: string;
  readonly #shared: readonly Binding[];
  readonly #programs: { readonly setpriv: string; readonly monitor: string };
  readonly #disk: string | undefined;

  private constructor(
    options: JailOptions,
    provided: Provided,
    tree: CgroupTree,
    has: {
      filter: string;
      shared: readonly Binding[];
      setpriv: string;
      monitor: string;
      disk: string | undefined;
    },
  ) {
    this.#options = options;
    this.#provided = provided;
    this.#tree = tree;
    this.#numbers = new Numbers(Math.min(provided.uids.count, provided.gids.count));
    this.#filter = has.filter;
    this.#shared = has.shared;
    this.#programs = has;
    this.#disk = has.disk;
  }

  /** Takes over the cgroup and tries a jail. Rejects with HostFaults, which names all that this host lacks. */
  static async open(options: JailOptions, signal: AbortSignal): Promise<Jail> {
    const { username: name, uid, gid } = userInfo();
    const usesKvm = options.accelerator === 'kvm';
    const { faults, provided } = await examineHost({ ...options, user: { name, uid, gid }, usesKvm });
    if (provided === undefined) throw refusal(faults);
    for (const dir of options.closedDirs) await close(dir);
    const filter = join(options.stateDir, 'jail.bpf');
    await writeFile(filter, seccompFilter(), { mode: 0o600 });
    const [setpriv, monitor] = [findProgram('setpriv') ?? '', findProgram(options.monitor) ?? ''];
    const read = [...(await filesOfPrograms([setpriv, monitor], signal)), ...Object.values(options.files)];
    // QEMU learns from /dev/null how files are locked.
    const devices = ['/dev/null', '/dev/urandom', ...(usesKvm ? [KVM_DEVICE] : [])];
    const shared: Binding[] = [
      ...read.map((path) => ({ path, access: 'read' as const })),
      ...devices.map((path) => ({ path, access: 'device' as const })),
    ];
    const disk = await diskOf(options.stateDir);
    const tree = await CgroupTree.open(provided.cgroup);
    const jail = new Jail(options, provided, tree, { filter, shared, setpriv, monitor, disk });
    await jail.#try(signal);
    return jail;
  }

  /** Makes a place for a machine, whose monitor is started with these arguments. */
  async admit(spec: MachineSpec, args: readonly string[]): Promise<Cell> {
    await using stack = new AsyncDisposableStack();
    const number = this.#numbers.take(spec.id);
    stack.defer(() => this.#numbers.giveBack(number));
    const { bindings, largest } = await openDisks(spec);
    const cgroup = await this.#tree.create(spec.id, cgroupLimits(spec, this.#allowance(), this.#disk));
    stack.defer(() => this.#tree.remove(spec.id));
    const command = jailCommand({
      ...this.#plan(number, cgroup),
      agentSocket: join(spec.dir, MACHINE_FILES.agent),
      qmpSocket: join(spec.dir, MACHINE_FILES.qmp),
      tap: spec.nic?.tap,
      bindings: [...this.#shared, ...bindings],
      resourceLimits: resourceLimits(largest),
      command: [this.#programs.monitor, ...args],
    });
    const held = stack.move();
    return { command, release: () => held.disposeAsync() };
  }

  /** Ends every machine of an earlier run. Answers their sandboxes' ids. */
  sweep(): Promise<string[]> {
    return this.#tree.sweep();
  }

  #plan(number: number, cgroup: string): Omit<JailPlan, 'tap' | 'bindings' | 'resourceLimits' | 'command'> {
    const { uids, gids, kvmGid } = this.#provided;
    const { uid, gid } = userInfo();
    return {
      daemon: { uid, gid },
      monitor: { uid: uids.start + number, gid: gids.start + number },
      kvmGid,
      cgroup,
      filter: this.#filter,
      setpriv: this.#programs.setpriv,
    };
  }

  #allowance(): JailAllowance {
    const { accelerator, allowance } = this.#options;
    const translated = accelerator === 'tcg' ? JAILED_TB_MIB : 0;
    return { ...allowance, memoryOverheadMib: allowance.memoryOverheadMib + translated };
  }

  /** Has the monitor say its version in a jail: what the host forbids in a way that nobody foresaw shows now. */
  async #try(signal: AbortSignal): Promise<void> {
    await this.#tree.sweep();
    const size = { vcpuCount: 1, memSizeMib: 64 };
    const limits = cgroupLimits(size, this.#allowance(), this.#disk);
    const cgroup = await this.#tree.create(TRIAL, limits);
    const [program = '', ...args] = jailCommand({
      ...this.#plan(0, cgroup),
      tap: undefined,
      bindings: this.#shared,
      resourceLimits: resourceLimits(0n),
      command: [this.#programs.monitor, '--version'],
    });
    try {
      await run('setpriv', ['--inh-caps=-all', '--ambient-caps=-all', '--', program, ...args], signal);
    } catch (error) {
      signal.throwIfAborted();
      throw refusal([`a trial failed: ${reasonOf(error)}`]);
    } finally {
      await this.#tree.remove(TRIAL);
    }
  }
}

/** Shuts a directory, made if missing, to others: files in it may then be open to everybody by their mode. */
async function close(dir: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const { mode } = await stat(dir);
  if ((mode & 0o077) !== 0) await chmod(dir, mode & 0o700);
}

function refusal(faults: readonly string[]): HostFaults {
  return new HostFaults(faults.map((fault) => `SERVICE_JAILER_ENABLED: ${fault}`));
}

import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { H2GuestAgent } from '../packages/daemon/src/adapters/agent-h2/agent.ts';
import { SNAPSHOT_FILES } from '../packages/daemon/src/adapters/storage-local/draft.ts';
import { readManifest } from '../packages/daemon/src/adapters/storage-local/manifest.ts';
import { readLayerHeader } from '../packages/daemon/src/lib/qcow2.ts';
import { LocalStorage } from '../packages/daemon/src/adapters/storage-local/storage.ts';
import { QemuVmm } from '../packages/daemon/src/adapters/vmm-qemu/vmm.ts';
import { loadConfig } from '../packages/daemon/src/config.ts';
import type { Config } from '../packages/daemon/src/config.ts';
import { Deadline } from '../packages/daemon/src/lib/deadline.ts';
import { run } from '../packages/daemon/src/lib/run.ts';
import { Semaphore } from '../packages/daemon/src/lib/semaphore.ts';
import type { AgentSession } from '../packages/daemon/src/ports/agent.ts';
import type { SnapshotRecord } from '../packages/daemon/src/ports/snapshots.ts';
import type { Machine, MachineSpec, VmmProfile } from '../packages/daemon/src/ports/vmm.ts';

const LIMIT_MS = 120_000;

// Of the benchmarking range (RFC 2544): a network of the host and one machine.
const TAP = 'bare0';
const HOST_ADDRESS = '198.18.0.1';
export const BARE_ADDRESS = '198.18.0.2';
const MAC = '02:00:c6:12:00:02';
const PREFIX_LENGTH = 30;

export interface BareSize {
  readonly vcpuCount: number;
  readonly memSizeMib: number;
}

/** A machine that nobody but its caller looks after. Disposing of it ends it. */
export interface BareMachine extends AsyncDisposable {
  readonly session: AgentSession;
}

/** Machines of one snapshot. Disposing of them ends them. */
export interface BareClones extends AsyncDisposable {
  readonly sessions: readonly AgentSession[];
  readonly took: number;
}

/**
 * The same QEMU, command line, kernel, disk and agent as the service's, without the service: no admission, bookkeeping, lease, rules
 * or HTTP. One that is booted or resumed at a time, since they have one tap.
 */
export class BareMachines implements AsyncDisposable {
  readonly config: Config;
  readonly profile: VmmProfile;
  readonly #vmm: QemuVmm;
  readonly #storage: LocalStorage;
  readonly #dir: string;

  private constructor(config: Config, vmm: QemuVmm, storage: LocalStorage, dir: string) {
    this.config = config;
    this.profile = vmm.profile;
    this.#vmm = vmm;
    this.#storage = storage;
    this.#dir = dir;
  }

  /** Makes a tap for them; to be called on a host of its own (e2e/own-host.sh). */
  static async open(): Promise<BareMachines> {
    using deadline = Deadline.in(LIMIT_MS, 'the preparation');
    const { signal } = deadline;
    const { config } = loadConfig({ ...process.env });
    const dir = await mkdtemp(join(tmpdir(), 'atoll-bare-'));
    await addTap(TAP, signal);
    await run('ip', ['address', 'add', `${HOST_ADDRESS}/${PREFIX_LENGTH}`, 'dev', TAP], signal);
    await run('ip', ['link', 'set', TAP, 'up'], signal);
    const { kernelPath: kernel, initramfsPath: initramfs, accelerator } = config;
    const vmm = await QemuVmm.create({ kernel, initramfs, accelerator, stateDir: dir }, deadline);
    const storage = await LocalStorage.open(dir, config.baseRootfs, signal);
    return new BareMachines(config, vmm, storage, dir);
  }

  /** Boots one and waits until its agent has answered. `took`: milliseconds from the start of QEMU to that; its disk is there before. */
  async boot(size: BareSize): Promise<BareMachine & { readonly took: number }> {
    using deadline = Deadline.in(LIMIT_MS, 'a boot by hand');
    const id = randomUUID();
    await using stack = new AsyncDisposableStack();
    const files = await this.#storage.createMachine(id, deadline.signal);
    stack.defer(() => this.#storage.removeMachine(id));
    const spec = { id, ...files, ...size, nic: { tap: TAP, mac: MAC } };
    const started = performance.now();
    const machine = await this.#vmm.boot(spec, deadline);
    stack.defer(() => machine.stop());
    const session = await (await new H2GuestAgent().attach(machine.agentSocket, deadline)).open(deadline);
    stack.defer(() => session.close());
    await session.health(deadline.signal);
    return handle(session, stack, performance.now() - started);
  }

  /** Gives a machine the address BARE_ADDRESS, at which this host reaches it. */
  async connectNetwork({ session }: BareMachine): Promise<void> {
    const network = {
      ...{ mac: MAC, address: BARE_ADDRESS, prefixLength: PREFIX_LENGTH },
      gateway: HOST_ADDRESS,
    };
    await session.configure({ network }, AbortSignal.timeout(LIMIT_MS));
  }

  /**
   * Loads a snapshot of a service and waits until its agent has answered. `took`: milliseconds from the start of QEMU to that; disk
   * and memory are there before, and the snapshot stays as it was.
   */
  async resume(snapshotsDir: string, snapshot: string): Promise<BareMachine & { readonly took: number }> {
    using deadline = Deadline.in(LIMIT_MS, 'a resume by hand');
    await using stack = new AsyncDisposableStack();
    const saved = await savedIn(snapshotsDir, snapshot);
    const spec = await this.#readyFor(saved, TAP, stack, deadline);
    await copySparse(saved.memory, spec.memory, deadline.signal);
    const started = performance.now();
    const session = await this.#load(spec, saved, undefined, stack, deadline);
    return handle(session, stack, performance.now() - started);
  }

  /**
   * Loads a snapshot of a service into many machines, as many at a time as the service would, their memory shared until they write to it,
   * and waits until each agent has answered. `took`: milliseconds from the start of the first QEMU to the last answer.
   */
  async clone(snapshotsDir: string, snapshot: string, count: number): Promise<BareClones> {
    using deadline = Deadline.in(LIMIT_MS, 'clones by hand');
    await using stack = new AsyncDisposableStack();
    const saved = await savedIn(snapshotsDir, snapshot);
    const memory = join(this.#dir, 'frozen');
    stack.defer(() => rm(memory, { force: true }));
    await copySparse(saved.memory, memory, deadline.signal);
    const specs: MachineSpec[] = [];
    while (specs.length < count) {
      const tap = `bare${specs.length + 1}`;
      await addTap(tap, deadline.signal);
      stack.defer(() => deleteTap(tap));
      specs.push(await this.#readyFor(saved, tap, stack, deadline));
    }
    const places = new Semaphore(this.config.concurrentBoots);
    const started = performance.now();
    const loads = specs.map(async (spec) => {
      using _place = await places.acquire(deadline.signal);
      return await this.#load(spec, saved, memory, stack, deadline);
    });
    // Each is on the stack before one of them may fail.
    await Promise.allSettled(loads);
    const sessions = await Promise.all(loads);
    const took = performance.now() - started;
    const resources = stack.move();
    return { sessions, took, [Symbol.asyncDispose]: () => resources.disposeAsync() };
  }

  /** A machine's directory and disk. Copies: the monitor may not read what is the daemon's. */
  async #readyFor(
    { layer, record }: Saved,
    tap: string,
    stack: AsyncDisposableStack,
    { signal }: Deadline,
  ): Promise<MachineSpec> {
    const id = randomUUID();
    const files = await this.#storage.createMachine(id, signal);
    stack.defer(() => this.#storage.removeMachine(id));
    await this.#copyChain(layer, files.rootDisk, signal);
    const { vcpuCount, memSizeMib, identity } = record;
    return { id, ...files, vcpuCount, memSizeMib, nic: { tap, mac: identity.mac } };
  }

  /** From the start of QEMU to the agent's answer. `memory`: the file that it is not to write to, undefined for its own. */
  async #load(
    spec: MachineSpec,
    { state }: Saved,
    memory: string | undefined,
    stack: AsyncDisposableStack,
    deadline: Deadline,
  ): Promise<AgentSession> {
    const machine = await this.#vmm.prepare(spec, memory, deadline);
    stack.defer(() => machine.stop());
    const session = await wake(machine, state, deadline);
    stack.defer(() => session.close());
    await session.health(deadline.signal);
    return session;
  }

  /** Copies a layer and those under it. The last stands on the base as this program sees it: the daemon may see it elsewhere. */
  async #copyChain(layer: string, to: string, signal: AbortSignal): Promise<void> {
    const { backing } = await readLayerHeader(layer);
    const isOnLayer = backing.endsWith('.qcow2');
    const under = isOnLayer ? `${to}.under` : this.config.baseRootfs;
    if (isOnLayer) await this.#copyChain(join(dirname(layer), basename(backing)), under, signal);
    await run('cp', ['--no-preserve=all', layer, to], signal);
    const onto = ['-F', isOnLayer ? 'qcow2' : 'raw', '-b', under];
    await run('qemu-img', ['rebase', '-q', '-u', '-f', 'qcow2', ...onto, to], signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await deleteTap(TAP);
    await rm(this.#dir, { recursive: true, force: true });
  }
}

/** What a daemon keeps of a snapshot. */
interface Saved {
  readonly record: SnapshotRecord;
  readonly state: string;
  readonly memory: string;
  readonly layer: string;
}

async function savedIn(snapshotsDir: string, snapshot: string): Promise<Saved> {
  const held = join(snapshotsDir, 'held', snapshot);
  const { record } = await readManifest(held);
  const layer = join(snapshotsDir, 'layers', `${snapshot}.qcow2`);
  return {
    record,
    layer,
    state: join(held, SNAPSHOT_FILES.state),
    memory: join(held, SNAPSHOT_FILES.memory),
  };
}

async function copySparse(from: string, to: string, signal: AbortSignal): Promise<void> {
  await run('cp', ['--sparse=always', '--no-preserve=all', from, to], signal);
}

async function addTap(name: string, signal: AbortSignal): Promise<void> {
  await run('ip', ['tuntap', 'add', 'dev', name, 'mode', 'tap'], signal);
}

async function deleteTap(name: string): Promise<void> {
  await run('ip', ['link', 'delete', name], AbortSignal.timeout(LIMIT_MS));
}

async function wake(machine: Machine, state: string, deadline: Deadline): Promise<AgentSession> {
  const line = await new H2GuestAgent().attach(machine.agentSocket, deadline);
  await machine.load({ file: state, holdsMemory: false }, deadline);
  await machine.resume(deadline);
  return line.open(deadline);
}

function handle(
  session: AgentSession,
  stack: AsyncDisposableStack,
  took: number,
): BareMachine & { readonly took: number } {
  const resources = stack.move();
  return { session, took, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

/** Runs a command to its end and answers its output. */
export async function execBare(
  session: AgentSession,
  command: string,
  args: readonly string[] = [],
): Promise<string> {
  const chunks: Buffer[] = [];
  const { exitCode } = await session.exec(
    { command, args, env: {} },
    (_from, chunk) => void chunks.push(Buffer.from(chunk)),
    AbortSignal.timeout(LIMIT_MS),
  );
  const output = Buffer.concat(chunks).toString();
  if (exitCode !== 0) throw new Error(`${command} ended with ${exitCode}: ${output}`);
  return output;
}

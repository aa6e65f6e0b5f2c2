import { randomBytes } from 'node:crypto';
import { AtollError, reasonOf } from '../lib/errors.ts';
import type { Deadline } from '../lib/deadline.ts';
import type { AgentLine, AgentSession, GuestAgent, Identity } from '../ports/agent.ts';
import type { CreatePhase, Metrics } from '../ports/metrics.ts';
import type { Network, NetworkLease } from '../ports/network.ts';
import type { SnapshotStore, StoredSnapshot } from '../ports/snapshots.ts';
import type { Storage } from '../ports/storage.ts';
import type { Machine, MachineDrive, Vmm } from '../ports/vmm.ts';
import { settleDrives } from './drive-settling.ts';
import { forGuest } from './drives.ts';
import { assertRunnable } from './runnable.ts';
import type { AtPoint } from '../lib/fault-points.ts';
import type { Leases } from './leases.ts';
import type { Running, Sandbox } from './sandbox.ts';

/** What a launch needs of the outside. */
export interface LaunchPorts {
  readonly vmm: Vmm;
  readonly agent: GuestAgent;
  readonly storage: Storage;
  readonly snapshots: SnapshotStore;
  readonly network: Network;
  readonly leases: Leases;
  readonly metrics: Metrics;
  readonly atPoint: AtPoint;
}

/** What a boot is given that is not of the sandbox itself. */
export interface BootInput {
  readonly env: Readonly<Record<string, string>>;
  /** The raw root file system of its image; undefined: the default one. */
  readonly rootfs: string | undefined;
  readonly drives: readonly MachineDrive[];
}

// What the guest's kernel credits as a full pool: 256 bits (random(4)).
const ENTROPY_BYTES = 32;

// A guest's clock may be late by what its setting takes: 1 ms on an idle host, 20 in a guest that was just loaded under
// emulation, whose code is translated anew. Beyond this it is set again.
const CLOCK_MS = 40;
const CLOCK_ATTEMPTS = 4;

/**
 * Brings up a sandbox from nothing: network, disk, machine, agent, identity. Answers when a command can run in it. When a step fails,
 * those before it are undone, newest first, and BOOT_FAILED says why, or NETWORK_POOL_EXHAUSTED.
 */
export async function boot(
  ports: LaunchPorts,
  sandbox: Sandbox,
  { env, rootfs, drives }: BootInput,
  deadline: Deadline,
): Promise<Running> {
  const { vmm, agent, storage, network, leases, metrics } = ports;
  const { id } = sandbox;
  const total = stopwatch(metrics, 'total');
  await using stack = new AsyncDisposableStack();
  await using failed = new AsyncDisposableStack();
  try {
    const leasing = stopwatch(metrics, 'network_lease');
    const lease = leases.take(`sandbox ${id}`);
    stack.defer(() => leases.drop(lease, `sandbox ${id}`));
    leasing();

    const applying = stopwatch(metrics, 'egress_apply');
    await network.applyEgress(lease, sandbox.egress, deadline.signal);
    if (sandbox.rateLimit) await network.applyRateLimit(lease, sandbox.rateLimit, deadline.signal);
    applying();

    const clone = stopwatch(metrics, 'rootfs_clone');
    const files = await storage.createMachine(id, deadline.signal, rootfs);
    stack.defer(() => storage.removeMachine(id));
    clone();

    const setup = stopwatch(metrics, 'setup');
    const started = performance.now();
    const machine = await vmm.boot({ ...sandbox, ...files, nic: lease, drives }, deadline);
    stack.defer(() => machine.stop());
    const session = await orMachineEnd(machine, agent.connect(machine.agentSocket, deadline));
    stack.defer(() => session.close());
    metrics.booted(performance.now() - started);
    const identity = { env, network: lease, ...namesOf(sandbox) };
    await orMachineEnd(machine, configure(session, identity, deadline.signal));
    if (drives.length > 0)
      await orMachineEnd(machine, session.mountDrives(forGuest(sandbox.drives), deadline.signal));
    // Of a sandbox that lives they are settled at its end, and not when it becomes a snapshot.
    failed.defer(() => settleDrives(sandbox, machine, session));
    if (rootfs !== undefined) await orMachineEnd(machine, assertRunnable(session, deadline.signal));
    setup();

    total();
    failed.move();
    return {
      machine,
      agent: session,
      lease,
      mounts: new Map(),
      sharesMemory: false,
      resources: stack.move(),
    };
  } catch (error) {
    throw asFailure(error, deadline, (reason) => AtollError.of('BOOT_FAILED', { id, reason }, error));
  }
}

/** How a sandbox comes out of a snapshot. */
export interface Restoration {
  readonly snapshot: StoredSnapshot;
  readonly drives: readonly MachineDrive[];
  /** Takes the lease for the sandbox: the snapshot's own, or with a fresh identity another. */
  readonly claimLease: () => NetworkLease;
  /** Makes the guest somebody else than the one that was saved. */
  readonly freshIdentity: boolean;
  /** Maps the snapshot's memory copy-on-write, instead of a copy of it. */
  readonly sharesMemory: boolean;
}

/**
 * Brings up a sandbox from a snapshot: network, disk, memory, machine, a line to its agent, state, agent, identity. Answers when a
 * command can run in it. When a step fails, those before it are undone, newest first, the snapshot is as it was, and
 * RESTORE_FAILED says why.
 */
export async function restore(
  ports: LaunchPorts,
  sandbox: Sandbox,
  restoration: Restoration,
  deadline: Deadline,
): Promise<Running> {
  const loaded = await load(ports, sandbox, restoration, deadline);
  return awaken(ports, loaded, sandbox, {}, deadline);
}

/** A machine that was loaded from a snapshot and is paused, and the line to its agent: one step from going on. */
export interface Loaded {
  readonly restoration: Restoration;
  readonly machine: Machine;
  readonly line: AgentLine;
  readonly lease: NetworkLease;
  readonly sharesMemory: boolean;
  readonly resources: AsyncDisposableStack;
}

/** The first half of a restore: all that can be done before anybody is to have the sandbox. Fails as `restore` does. */
export async function load(
  ports: LaunchPorts,
  machineSpec: Pick<Sandbox, 'id' | 'vcpuCount' | 'memSizeMib'>,
  restoration: Restoration,
  deadline: Deadline,
): Promise<Loaded> {
  const { vmm, agent, snapshots, leases, atPoint } = ports;
  const { snapshot, drives } = restoration;
  const { id } = machineSpec;
  await using stack = new AsyncDisposableStack();
  try {
    const lease = restoration.claimLease();
    stack.defer(() => leases.drop(lease, `sandbox ${id}`));
    await atPoint('restore:begun');

    const files = await snapshots.createMachine(id, snapshot, deadline.signal);
    stack.defer(() => snapshots.removeMachine(id));
    await atPoint('restore:disk');

    // Not beside the monitor's start: it maps what is there whole, and both want a processor.
    const frozenMemory = await provideMemory(snapshots, restoration, files.memory, deadline.signal);
    await atPoint('restore:filled');
    const nic = { tap: lease.tap, mac: snapshot.record.lease.mac };
    const machine = await vmm.prepare({ ...machineSpec, ...files, nic, drives }, frozenMemory, deadline);
    stack.defer(() => machine.stop());
    await atPoint('restore:prepared');

    const line = await agent.attach(machine.agentSocket, deadline);
    stack.defer(() => line.close());
    await atPoint('restore:attached');
    const state = { file: snapshot.state, holdsMemory: snapshot.memory === undefined };
    await orMachineEnd(machine, machine.load(state, deadline));
    await atPoint('restore:loaded');
    const sharesMemory = frozenMemory !== undefined;
    return { restoration, machine, line, lease, sharesMemory, resources: stack.move() };
  } catch (error) {
    throw restoreFailure(error, snapshot, deadline);
  }
}

/**
 * The second half of a restore: the machine goes on, as this sandbox. Its rules are put in force beside that: until they are,
 * nothing gets out. When a step fails nothing of the machine is left.
 */
export async function awaken(
  { network, atPoint }: LaunchPorts,
  { restoration, machine, line, lease, sharesMemory, resources }: Loaded,
  sandbox: Sandbox,
  more: Pick<Identity, 'env'>,
  deadline: Deadline,
): Promise<Running> {
  await using stack = new AsyncDisposableStack();
  stack.use(resources);
  try {
    const rules = applyRules(network, lease, sandbox, deadline.signal);
    stack.defer(() => rules.then(ignore, ignore));
    await machine.resume(deadline);
    const session = await orMachineEnd(machine, line.open(deadline));
    stack.defer(() => session.close());
    await atPoint('restore:opened');
    const identity = restoration.freshIdentity ? { ...namesOf(sandbox), network: lease } : {};
    await orMachineEnd(machine, configure(session, { ...identity, ...more }, deadline.signal));
    await rules;
    await atPoint('restore:configured');
    // The mount tool goes on in the guest's memory.
    const mounts = new Map(restoration.snapshot.record.mounts.map((mount) => [mount.id, mount]));
    return { machine, agent: session, lease, mounts, sharesMemory, resources: stack.move() };
  } catch (error) {
    throw restoreFailure(error, restoration.snapshot, deadline);
  }
}

/** Puts in force what a lease was given, again when it was before. */
async function applyRules(
  network: Network,
  lease: NetworkLease,
  { egress, rateLimit }: Sandbox,
  signal: AbortSignal,
): Promise<void> {
  await network.applyEgress(lease, egress, signal);
  if (rateLimit) await network.applyRateLimit(lease, rateLimit, signal);
}

function restoreFailure(error: unknown, { record }: StoredSnapshot, deadline: Deadline): unknown {
  return asFailure(error, deadline, (reason) =>
    AtollError.of('RESTORE_FAILED', { id: record.id, reason }, error),
  );
}

/** The memory that a machine is loaded with: the frozen one, which is the answer, or a copy. A state that holds it needs neither. */
async function provideMemory(
  snapshots: SnapshotStore,
  { snapshot, sharesMemory }: Restoration,
  to: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (snapshot.memory === undefined) return undefined;
  if (sharesMemory) return snapshot.memory;
  await snapshots.copyMemory(snapshot, to, signal);
  return undefined;
}

function ignore(): void {
  // Told elsewhere.
}

/** What a failed launch is told as: with the code it has, else by `otherwise`. */
function asFailure(error: unknown, { signal }: Deadline, otherwise: (reason: string) => AtollError): unknown {
  const { aborted, reason } = signal as { aborted: boolean; reason: unknown };
  if (aborted && reason instanceof AtollError) return reason;
  return error instanceof AtollError ? error : otherwise(reasonOf(error));
}

/** The names a guest has by its sandbox. */
function namesOf(sandbox: Sandbox): Pick<Identity, 'hostname' | 'machineId'> {
  return { hostname: hostnameOf(sandbox), machineId: sandbox.id.replaceAll('-', '') };
}

/**
 * Tells a guest who it is, and what it needs each time it begins to run: the time, and randomness that no other has. A clock that
 * was long on its way is set again: on a busy host the first may be late.
 */
async function configure(session: AgentSession, identity: Identity, signal: AbortSignal): Promise<void> {
  let news: Identity = { ...identity, entropy: randomBytes(ENTROPY_BYTES) };
  for (let attempt = 0; attempt < CLOCK_ATTEMPTS; attempt += 1) {
    const sent = performance.now();
    await session.configure({ ...news, clockUnixNs: BigInt(Date.now()) * 1_000_000n }, signal);
    if (performance.now() - sent < CLOCK_MS) return;
    news = {};
  }
}

/** A sandbox's name made a host name, in which neither an underscore nor a hyphen at an end may stand (RFC 1123). */
function hostnameOf({ id, name = '' }: Sandbox): string {
  const hostname = name.replaceAll('_', '-').replace(/^-+|-+$/g, '');
  return hostname === '' ? id.slice(0, 8) : hostname;
}

/** Waits for a step, but no longer than the machine lives. A failure quotes the console: a guest says why there, if anywhere. */
async function orMachineEnd<T>(machine: Machine, step: Promise<T>): Promise<T> {
  const ended = machine.exited.then((reason) => {
    throw new Error(`${reason} before its agent answered`);
  });
  try {
    return await Promise.race([step, ended]);
  } catch (error) {
    const console = machine.console();
    throw new Error(`${reasonOf(error)}${console === '' ? '' : `; the end of its console:\n${console}`}`, {
      cause: error,
    });
  }
}

function stopwatch(metrics: Metrics, phase: CreatePhase): () => void {
  const started = performance.now();
  return () => metrics.createPhase(phase, performance.now() - started);
}

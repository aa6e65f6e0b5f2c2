import { AtollError } from '../lib/errors.ts';
import type { Deadline } from '../lib/deadline.ts';
import type { AgentLine, AgentSession, Identity, Names } from '../ports/agent.ts';
import type { NetworkLease } from '../ports/network.ts';
import type { MemoryCopy, SnapshotStore, StoredSnapshot } from '../ports/snapshots.ts';
import type { Machine, MachineDrive } from '../ports/vmm.ts';
import { configure, namesOf, wakeGuest } from './identity.ts';
import { asFailure, ignore, meanwhile, orMachineEnd } from './launch.ts';
import type { LaunchPorts } from './launch.ts';
import type { Running, Sandbox } from './sandbox.ts';

/** How a sandbox comes out of a snapshot. */
export interface Restoration {
  readonly snapshot: StoredSnapshot;
  readonly drives: readonly MachineDrive[];
  /** Takes the lease for the sandbox: the snapshot's own, or with a fresh identity another. */
  readonly claimLease: (deadline: Deadline) => Promise<NetworkLease>;
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
  /** What the line was opened to, once it was. */
  readonly session?: AgentSession;
  /** What its guest is told already. */
  readonly told?: Names;
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
  const { vmm, agent, snapshots, leases, leftovers, atPoint } = ports;
  const { snapshot, drives } = restoration;
  const { id } = machineSpec;
  const passing = { id, signal: deadline.signal };
  await using stack = new AsyncDisposableStack();
  try {
    const lease = await restoration.claimLease(deadline);
    stack.defer(() => leftovers.giveBack('release:lease', id, () => leases.end(lease, `sandbox ${id}`)));
    await atPoint('restore:begun', passing);

    const files = await snapshots.createMachine(id, snapshot, deadline.signal);
    stack.defer(() => leftovers.giveBack('release:files', id, () => snapshots.removeMachine(id)));
    await atPoint('restore:disk', passing);

    // Filled while the monitor starts, which maps it and leaves it alone until the load.
    const memory = await provideMemory(snapshots, restoration, files.memory, deadline.signal);
    stack.defer(() => memory.filled.catch(ignore));
    const nic = { tap: lease.tap, mac: snapshot.record.identity.mac };
    const machine = await vmm.prepare({ ...machineSpec, ...files, nic, drives }, memory.frozen, deadline);
    stack.defer(() => leftovers.giveBack('release:machine', id, () => machine.stop()));
    await atPoint('restore:prepared', passing);

    const line = await agent.attach(machine.agentSocket, deadline);
    stack.defer(() => line.close());
    await atPoint('restore:attached', passing);
    await memory.filled;
    await atPoint('restore:filled', passing);
    const state = { file: snapshot.state, holdsMemory: snapshot.memory === undefined };
    await orMachineEnd(machine, machine.load(state, deadline));
    await atPoint('restore:loaded', passing);
    const sharesMemory = memory.frozen !== undefined;
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
  { restoration, machine, line, session: opened, told, lease, sharesMemory, resources }: Loaded,
  sandbox: Sandbox,
  more: Pick<Identity, 'env'>,
  deadline: Deadline,
): Promise<Running> {
  const { signal } = deadline;
  const { agentGeneration, mounts } = restoration.snapshot.record;
  const passing = { id: sandbox.id, signal };
  await using stack = new AsyncDisposableStack();
  stack.use(resources);
  try {
    const rules = meanwhile(stack, network.open(lease, sandbox, signal));
    const identity = restoration.freshIdentity ? { ...namesOf(sandbox), network: lease } : {};
    const news = { ...untold(identity, told), ...more };
    // A guest with another address asks for its gateway first, and when that is dropped, again no sooner than a second later.
    if (told !== undefined) await rules;
    await machine.resume(deadline);
    if (restoration.freshIdentity) await rules;
    const session = opened ?? (await orMachineEnd(machine, wakeGuest(line, agentGeneration, news, deadline)));
    if (opened === undefined) stack.defer(() => session.close());
    await atPoint('restore:opened', passing);
    // One that was opened ahead has been paused since.
    if (opened !== undefined) await orMachineEnd(machine, configure(session, news, signal));
    await rules;
    await atPoint('restore:configured', passing);
    return {
      ...{ machine, agent: session, lease, sharesMemory, resources: stack.move() },
      // The mount tool goes on in the guest's memory.
      mounts: new Map(mounts.map((mount) => [mount.id, mount])),
    };
  } catch (error) {
    throw restoreFailure(error, restoration.snapshot, deadline);
  }
}

/** What of an identity is news to a guest. */
function untold({ hostname, machineId, network }: Names, told: Names = {}): Names {
  return {
    ...(hostname !== undefined && hostname !== told.hostname && { hostname }),
    ...(machineId !== undefined && machineId !== told.machineId && { machineId }),
    ...(network !== undefined && network !== told.network && { network }),
  };
}

/** What a failed restore is told as. */
export function restoreFailure(error: unknown, { record }: StoredSnapshot, deadline: Deadline): unknown {
  return asFailure(error, deadline, (reason) =>
    AtollError.of('RESTORE_FAILED', { id: record.id, reason }, error),
  );
}

/** The memory that a machine is loaded with: the frozen one, or a copy. A state that holds it needs neither. */
async function provideMemory(
  snapshots: SnapshotStore,
  { snapshot, sharesMemory }: Restoration,
  to: string,
  signal: AbortSignal,
): Promise<MemoryCopy & { readonly frozen?: string }> {
  const there = { filled: Promise.resolve() };
  if (snapshot.memory === undefined) return there;
  if (sharesMemory) return { ...there, frozen: snapshot.memory };
  const copy = await snapshots.copyMemory(snapshot, to, signal);
  // Its failure is told where it is waited for, which a failure of the monitor comes before.
  copy.filled.catch(ignore);
  return copy;
}

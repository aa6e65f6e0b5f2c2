import { AtollError, reasonOf } from '../lib/errors.ts';
import type { Deadline } from '../lib/deadline.ts';
import type { GuestAgent } from '../ports/agent.ts';
import type { CreatePhase, Metrics } from '../ports/metrics.ts';
import type { Network } from '../ports/network.ts';
import type { SnapshotStore } from '../ports/snapshots.ts';
import type { Storage } from '../ports/storage.ts';
import type { Machine, MachineDrive, Vmm } from '../ports/vmm.ts';
import type { Admission } from './admission.ts';
import { settleDrives } from './drive-settling.ts';
import { forGuest } from './drives.ts';
import { BOOTED_GENERATION, namesOf, wakeGuest } from './identity.ts';
import { assertRunnable } from './runnable.ts';
import type { AtPoint } from '../lib/fault-points.ts';
import type { Leases } from './leases.ts';
import { endOf } from './machine-end.ts';
import type { Leftovers } from './leftovers.ts';
import type { Running, Sandbox } from './sandbox.ts';

/** What a launch needs of the outside. */
export interface LaunchPorts {
  readonly vmm: Vmm;
  readonly agent: GuestAgent;
  readonly storage: Storage;
  readonly admission: Admission;
  readonly snapshots: SnapshotStore;
  readonly network: Network;
  readonly leases: Leases;
  readonly leftovers: Leftovers;
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
  const { vmm, agent, storage, network, leases, leftovers, metrics, atPoint } = ports;
  const { id } = sandbox;
  const passing = { id, signal: deadline.signal };
  const total = stopwatch(metrics, 'total');
  await using stack = new AsyncDisposableStack();
  await using failed = new AsyncDisposableStack();
  try {
    const leasing = stopwatch(metrics, 'network_lease');
    const lease = await leases.take(`sandbox ${id}`, deadline);
    stack.defer(() => leftovers.giveBack('release:lease', id, () => leases.end(lease, `sandbox ${id}`)));
    leasing();
    await atPoint('boot:leased', passing);

    // Beside the rest: until they are in force nothing passes, and nobody is there yet.
    const applying = stopwatch(metrics, 'egress_apply');
    const rules = meanwhile(stack, network.open(lease, sandbox, deadline.signal).then(applying));

    const clone = stopwatch(metrics, 'rootfs_clone');
    const files = await storage.createMachine(id, deadline.signal, rootfs);
    stack.defer(() => leftovers.giveBack('release:files', id, () => storage.removeMachine(id)));
    clone();
    await atPoint('boot:disk', passing);

    const setup = stopwatch(metrics, 'setup');
    const started = performance.now();
    const machine = await vmm.boot({ ...sandbox, ...files, nic: lease, drives }, deadline);
    stack.defer(() => leftovers.giveBack('release:machine', id, () => machine.stop()));
    await atPoint('boot:started', passing);
    const line = await orMachineEnd(machine, agent.attach(machine.agentSocket, deadline));
    stack.defer(() => line.close());
    await atPoint('boot:attached', passing);
    // A guest with an address asks for its gateway at once, and when that is dropped, again no sooner than a second later.
    await rules;
    await atPoint('boot:ruled', passing);
    const identity = { ...(Object.keys(env).length > 0 && { env }), network: lease, ...namesOf(sandbox) };
    const session = await orMachineEnd(machine, wakeGuest(line, BOOTED_GENERATION, identity, deadline));
    stack.defer(() => session.close());
    metrics.booted(performance.now() - started);
    if (drives.length > 0)
      await orMachineEnd(machine, session.mountDrives(forGuest(sandbox.drives), deadline.signal));
    // Of a sandbox that lives they are settled at its end, and not when it becomes a snapshot.
    failed.defer(() =>
      leftovers.attempt(id, 'drives not written out', () => settleDrives(sandbox, machine, session)),
    );
    if (rootfs !== undefined) await orMachineEnd(machine, assertRunnable(session, deadline.signal));
    setup();
    await atPoint('boot:configured', passing);

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

/** Work that goes on beside the next steps, and that the undoing of those before it waits for. Its failure is for who awaits it. */
export function meanwhile(stack: AsyncDisposableStack, work: Promise<void>): Promise<void> {
  const settled = work.then(ignore, ignore);
  stack.defer(() => settled);
  return work;
}

export function ignore(): void {
  // Told elsewhere.
}

/** What a failed launch is told as: with the code it has, else by `otherwise`. */
export function asFailure(
  error: unknown,
  { signal }: Deadline,
  otherwise: (reason: string) => AtollError,
): unknown {
  const { aborted, reason } = signal as { aborted: boolean; reason: unknown };
  if (aborted && reason instanceof AtollError) return reason;
  return error instanceof AtollError ? error : otherwise(reasonOf(error));
}

/** Waits for a step, but no longer than the machine lives. A failure quotes the console: a guest says why there, if anywhere. */
export async function orMachineEnd<T>(machine: Machine, step: Promise<T>): Promise<T> {
  const ended = machine.exited.then((): never => {
    throw new Error('its machine ended');
  });
  try {
    return await Promise.race([step, ended]);
  } catch (error) {
    // Its sockets close first, and say nothing but that.
    const end = await endOf(machine);
    const reason = end === undefined ? reasonOf(error) : `${end} before its agent answered`;
    const console = machine.console();
    throw new Error(`${reason}${console === '' ? '' : `; the end of its console:\n${console}`}`, {
      cause: error,
    });
  }
}

function stopwatch(metrics: Metrics, phase: CreatePhase): () => void {
  const started = performance.now();
  return () => metrics.createPhase(phase, performance.now() - started);
}

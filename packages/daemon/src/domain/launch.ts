import { randomBytes } from 'node:crypto';
import { AtollError, reasonOf } from '../lib/errors.ts';
import type { Deadline } from '../lib/deadline.ts';
import type { AgentSession, GuestAgent } from '../ports/agent.ts';
import type { CreatePhase, Metrics } from '../ports/metrics.ts';
import { NetworkExhausted } from '../ports/network.ts';
import type { Network, NetworkLease } from '../ports/network.ts';
import type { Storage } from '../ports/storage.ts';
import type { Machine, MachineDrive, Vmm } from '../ports/vmm.ts';
import { settleDrives } from './drive-settling.ts';
import { forGuest } from './drives.ts';
import { assertRunnable } from './runnable.ts';
import type { Running, Sandbox } from './sandbox.ts';

/** What a launch needs of the outside. */
export interface LaunchPorts {
  readonly vmm: Vmm;
  readonly agent: GuestAgent;
  readonly storage: Storage;
  readonly network: Network;
  readonly metrics: Metrics;
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
  const { vmm, agent, storage, network, metrics } = ports;
  const { id } = sandbox;
  const total = stopwatch(metrics, 'total');
  await using stack = new AsyncDisposableStack();
  try {
    const leasing = stopwatch(metrics, 'network_lease');
    const lease = network.lease();
    stack.defer(() => network.release(lease));
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
    await orMachineEnd(machine, introduce(session, sandbox, lease, env, deadline.signal));
    if (drives.length > 0)
      await orMachineEnd(machine, session.mountDrives(forGuest(sandbox.drives), deadline.signal));
    stack.defer(() => settleDrives(sandbox, machine, session));
    if (rootfs !== undefined) await orMachineEnd(machine, assertRunnable(session, deadline.signal));
    setup();

    total();
    return { machine, agent: session, lease, resources: stack.move() };
  } catch (error) {
    const { aborted, reason } = deadline.signal as { aborted: boolean; reason: unknown };
    if (aborted && reason instanceof AtollError) throw reason;
    if (error instanceof NetworkExhausted)
      throw AtollError.of('NETWORK_POOL_EXHAUSTED', { size: error.size }, error);
    throw AtollError.of(
      'BOOT_FAILED',
      { id, reason: error instanceof Error ? error.message : String(error) },
      error,
    );
  }
}

/** Tells a fresh guest who it is. */
function introduce(
  session: AgentSession,
  sandbox: Sandbox,
  network: NetworkLease,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<void> {
  return session.configure(
    {
      env,
      network,
      hostname: hostnameOf(sandbox),
      machineId: sandbox.id.replaceAll('-', ''),
      clockUnixNs: BigInt(Date.now()) * 1_000_000n,
      entropy: randomBytes(ENTROPY_BYTES),
    },
    signal,
  );
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

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
import type { AgentSession } from '../packages/daemon/src/ports/agent.ts';
import type { Machine, VmmProfile } from '../packages/daemon/src/ports/vmm.ts';

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

/**
 * The same QEMU, command line, kernel, disk and agent as the service's, without the service: no admission, bookkeeping, lease, rules
 * or HTTP. One machine at a time, since there is one tap.
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
    await run('ip', ['tuntap', 'add', 'dev', TAP, 'mode', 'tap'], signal);
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
    const id = randomUUID();
    const held = join(snapshotsDir, 'held', snapshot);
    const { record } = await readManifest(held);
    await using stack = new AsyncDisposableStack();
    const layer = join(snapshotsDir, 'layers', `${snapshot}.qcow2`);
    const files = await this.#storage.createMachine(id, deadline.signal);
    stack.defer(() => this.#storage.removeMachine(id));
    // Copies: the monitor may not read what is the daemon's.
    await this.#copyChain(layer, files.rootDisk, deadline.signal);
    await run(
      'cp',
      ['--sparse=always', '--no-preserve=all', join(held, SNAPSHOT_FILES.memory), files.memory],
      deadline.signal,
    );
    const { vcpuCount, memSizeMib, identity } = record;
    const spec = { id, ...files, vcpuCount, memSizeMib, nic: { tap: TAP, mac: identity.mac } };

    const started = performance.now();
    const machine = await this.#vmm.prepare(spec, undefined, deadline);
    stack.defer(() => machine.stop());
    const session = await wake(machine, join(held, SNAPSHOT_FILES.state), deadline);
    stack.defer(() => session.close());
    await session.health(deadline.signal);
    return handle(session, stack, performance.now() - started);
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
    await run('ip', ['link', 'delete', TAP], AbortSignal.timeout(LIMIT_MS));
    await rm(this.#dir, { recursive: true, force: true });
  }
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

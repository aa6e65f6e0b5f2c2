import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { H2GuestAgent } from '../packages/daemon/src/adapters/agent-h2/agent.ts';
import { LocalStorage } from '../packages/daemon/src/adapters/storage-local/storage.ts';
import { detectAccelerator, hostTscKhz } from '../packages/daemon/src/adapters/vmm-qemu/accelerator.ts';
import { machineArgs, MACHINE_FILES, qemuBinary } from '../packages/daemon/src/adapters/vmm-qemu/argv.ts';
import type { GuestSettings } from '../packages/daemon/src/adapters/vmm-qemu/argv.ts';
import { startDaemon } from '../packages/daemon/src/compose.ts';
import { loadConfig } from '../packages/daemon/src/config.ts';
import { Deadline } from '../packages/daemon/src/lib/deadline.ts';

/**
 * What the service adds to a boot. Turn by turn, in one run: the very QEMU command line of a sandbox started by hand, until its
 * agent answers; and `POST /sandboxes`, until its answer. Usage: node bench/boot.ts [rounds]
 */
const rounds = Number(process.argv[2] ?? 10);
const BOOT_MS = 60_000;

const dir = await mkdtemp(join(tmpdir(), 'atoll-bench-'));
const { config } = loadConfig({
  ...process.env,
  SERVICE_LISTEN_ADDR: '127.0.0.1:0',
  SERVICE_STATE_DIR: join(dir, 'daemon'),
  SERVICE_LOG_LEVEL: 'silent',
});
const storage = await LocalStorage.open(join(dir, 'bare'), config.baseRootfs, AbortSignal.timeout(BOOT_MS));
const daemon = await startDaemon(config, []);
try {
  const guest = await guestSettings();
  const bare: number[] = [];
  const service: number[] = [];
  // The first of each warms the page cache and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    const [a, b] = [await bootByHand(guest), await bootByService(daemon.url)];
    if (round === 0) continue;
    bare.push(a);
    service.push(b);
  }
  report(guest, bare, service);
} finally {
  await daemon.stop.disposeAsync();
  await rm(dir, { recursive: true, force: true });
}

async function guestSettings(): Promise<GuestSettings> {
  const { kernelPath: kernel, initramfsPath: initramfs, stateDir } = config;
  const { accelerator } = await detectAccelerator(
    config.accelerator,
    kernel,
    stateDir,
    AbortSignal.timeout(BOOT_MS),
  );
  return { kernel, initramfs, accelerator, tscKhz: await hostTscKhz() };
}

/** Milliseconds from the start of QEMU to the agent's answer. The disk is there before. */
async function bootByHand(guest: GuestSettings): Promise<number> {
  const id = randomUUID();
  using deadline = Deadline.in(BOOT_MS, 'a boot by hand');
  const files = await storage.createMachine(id, deadline.signal);
  const { vcpuCount, memSizeMib } = config.sizes;
  const args = machineArgs({ id, ...files, vcpuCount, memSizeMib }, guest);
  const started = performance.now();
  const qemu = spawn(qemuBinary(), args, { cwd: files.dir, stdio: 'ignore' });
  const exited = once(qemu, 'exit');
  try {
    const session = await connect(join(files.dir, MACHINE_FILES.agent), deadline);
    await session.health(deadline.signal);
    return performance.now() - started;
  } finally {
    qemu.kill('SIGKILL');
    await exited;
    await storage.removeMachine(id);
  }
}

async function connect(socket: string, deadline: Deadline) {
  for (;;) {
    try {
      return await new H2GuestAgent().connect(socket, deadline);
    } catch (error) {
      deadline.signal.throwIfAborted();
      if (!['ENOENT', 'ECONNREFUSED'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
}

/** Milliseconds of one `POST /sandboxes`. */
async function bootByService(url: string): Promise<number> {
  const started = performance.now();
  const response = await fetch(`${url}/sandboxes`, { method: 'POST' });
  const { id } = (await response.json()) as { id: string };
  const took = performance.now() - started;
  await fetch(`${url}/sandboxes/${id}?keep=false`, { method: 'DELETE' });
  return took;
}

function report({ accelerator }: GuestSettings, bare: number[], service: number[]): void {
  console.log(
    `accelerator ${accelerator}, ${availableParallelism()} cores, ${bare.length} rounds, milliseconds`,
  );
  console.log('                         min   p50   p95   max');
  console.log(`QEMU by hand          ${row(bare)}`);
  console.log(`POST /sandboxes       ${row(service)}`);
  const ratios = bare.map((ms, round) => (service[round] ?? ms) / ms);
  console.log(
    `the service adds ${((quantile(ratios, 0.5) - 1) * 100).toFixed(1)} % (median of the rounds' own ratios)`,
  );
}

function row(times: number[]): string {
  return [0, 0.5, 0.95, 1].map((q) => quantile(times, q).toFixed(0).padStart(6)).join('');
}

function quantile(values: number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.round(q * (sorted.length - 1))] ?? Number.NaN;
}

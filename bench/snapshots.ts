import { randomUUID } from 'node:crypto';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { H2GuestAgent } from '../packages/daemon/src/adapters/agent-h2/agent.ts';
import { LocalSnapshots } from '../packages/daemon/src/adapters/storage-local/snapshots.ts';
import { QemuVmm } from '../packages/daemon/src/adapters/vmm-qemu/vmm.ts';
import { startDaemon } from '../packages/daemon/src/compose.ts';
import { loadConfig } from '../packages/daemon/src/config.ts';
import { dropRoot } from '../packages/daemon/src/privileges.ts';
import { Deadline } from '../packages/daemon/src/lib/deadline.ts';
import type { StoredSnapshot } from '../packages/daemon/src/ports/snapshots.ts';

/**
 * Snapshots, turn by turn in one run. What `POST …/resume` adds to the same QEMU driven directly, with its disk and memory ready and
 * no network set up, until its agent answers; what a snapshot takes at 512 MiB and at 4 GiB, each with the same dirty memory.
 * To be run on a host that is set up, as root: e2e/own-host.sh node bench/snapshots.ts [rounds]
 */
const rounds = Number(process.argv[2] ?? 10);
const LIMIT_MS = 60_000;
const DIRTY = 'import os; open("/dev/shm/dirty", "wb").write(os.urandom(100_000_000))';

// Kept in the environment: what root starts becomes this program again, as the daemon's user.
const stateDir = (process.env.SERVICE_STATE_DIR ??= await mkdtemp(join(tmpdir(), 'atoll-bench-')));
const { config } = loadConfig({
  ...process.env,
  SERVICE_LISTEN_ADDR: '127.0.0.1:0',
  SERVICE_SNAPSHOTS_DIR: join(stateDir, 'snapshots'),
  SERVICE_LOG_LEVEL: 'silent',
});
await dropRoot(config);
const marks: [point: string, at: number][] = [];
const daemon = await startDaemon(config, [], (point) => void marks.push([point, performance.now()]));
try {
  await benchResume();
  await benchSizes();
} finally {
  await daemon.stop.disposeAsync();
  await rm(stateDir, { recursive: true, force: true });
}

async function benchResume(): Promise<void> {
  const [direct, service]: [number[], number[]] = [[], []];
  let id = await create({});
  // The first of each warms the page cache and is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    const { snapshot_id: snapshot } = (await post(`/sandboxes/${id}/snapshot`)) as { snapshot_id: string };
    const a = await resumeDirectly(snapshot);
    marks.length = 0;
    const started = performance.now();
    ({ id } = (await post(`/snapshots/${snapshot}/resume?retain_history=false`)) as { id: string });
    const b = performance.now() - started;
    if (process.env.ATOLL_BENCH_POINTS)
      console.log(marks.map(([p, at]) => `${p} ${(at - started).toFixed(0)}`).join('; '));
    await call('POST', `/sandboxes/${id}/exec`, { command: 'true', args: [] });
    if (round === 0) continue;
    direct.push(a);
    service.push(b);
  }
  await call('DELETE', `/sandboxes/${id}?keep=false`);
  console.log(`${availableParallelism()} cores, ${rounds} rounds, milliseconds`);
  console.log('                         min   p50   p95   max');
  console.log(`QEMU driven directly  ${row(direct)}`);
  console.log(`POST …/resume         ${row(service)}`);
  const ratios = direct.map((ms, round) => (service[round] ?? ms) / ms);
  console.log(`the service takes ${quantile(ratios, 0.5).toFixed(2)} times as long (median of the rounds)`);
}

async function benchSizes(): Promise<void> {
  const [small, large]: [number[], number[]] = [[], []];
  const ids = [await create({ mem_size_mib: 512 }), await create({ mem_size_mib: 4096 })];
  for (const id of ids)
    await call('POST', `/sandboxes/${id}/exec`, { command: 'python3', args: ['-c', DIRTY] });
  for (let round = 0; round <= rounds; round += 1) {
    for (const [at, times] of [small, large].entries()) {
      const started = performance.now();
      const { snapshot_id } = (await post(`/sandboxes/${ids[at]}/snapshot`)) as { snapshot_id: string };
      if (round > 0) times.push(performance.now() - started);
      const { id } = (await post(`/snapshots/${snapshot_id}/resume?retain_history=false`)) as { id: string };
      ids[at] = id;
    }
  }
  for (const id of ids) await call('DELETE', `/sandboxes/${id}?keep=false`);
  console.log(`snapshot of 512 MiB   ${row(small)}`);
  console.log(`snapshot of 4 GiB     ${row(large)}`);
}

/** Milliseconds from the start of QEMU to the agent's answer; disk and memory are there before. */
async function resumeDirectly(snapshot: string): Promise<number> {
  using deadline = Deadline.in(LIMIT_MS, 'a resume by hand');
  const machinesDir = join(stateDir, 'machines');
  const store = await LocalSnapshots.open({
    snapshotsDir: config.snapshotsDir,
    archiveDir: config.archiveDir,
    machinesDir,
    onFault: console.error,
  });
  const stored = await find(store, snapshot);
  const { kernelPath: kernel, initramfsPath: initramfs, accelerator } = config;
  const vmm = await QemuVmm.create({ kernel, initramfs, accelerator, stateDir }, deadline);
  const id = randomUUID();
  const files = await store.createMachine(id, stored, deadline.signal);
  await cp(stored.memory ?? '', files.memory);
  const { record } = stored;
  const spec = { ...record, ...files, id, drives: [], nic: record.lease };
  const started = performance.now();
  const machine = await vmm.prepare(spec, undefined, deadline);
  const line = await new H2GuestAgent().attach(machine.agentSocket, deadline);
  await machine.load({ file: stored.state, holdsMemory: false }, deadline);
  await machine.resume(deadline);
  const session = await line.open(deadline);
  await session.health(deadline.signal);
  const took = performance.now() - started;
  session.close();
  await machine.stop();
  await rm(files.dir, { recursive: true });
  return took;
}

async function find(store: LocalSnapshots, id: string): Promise<StoredSnapshot> {
  const found = (await store.recover(AbortSignal.timeout(LIMIT_MS))).whole.find(
    ({ record }) => record.id === id,
  );
  if (found === undefined) throw new Error(`no snapshot ${id}`);
  return found;
}

async function create(body: object): Promise<string> {
  return ((await call('POST', '/sandboxes', body)) as { id: string }).id;
}

function post(path: string): Promise<unknown> {
  return call('POST', path);
}

async function call(method: string, path: string, body?: object): Promise<unknown> {
  const init = body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const response = await fetch(daemon.url + path, { method, ...init });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}

function row(times: number[]): string {
  return [0, 0.5, 0.95, 1].map((q) => quantile(times, q).toFixed(0).padStart(6)).join('');
}

function quantile(values: number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.round(q * (sorted.length - 1))] ?? Number.NaN;
}

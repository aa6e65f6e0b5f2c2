import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startDaemon } from '../packages/daemon/src/compose.ts';
import { loadConfig } from '../packages/daemon/src/config.ts';
import { dropRoot } from '../packages/daemon/src/privileges.ts';

/**
 * From a create to its first command's output: booted, from a pool's snapshot, and from a pool's loaded machine. Turn by turn with a
 * boot each, since the one and the other want a daemon with another SERVICE_POOL_STANDBY.
 * To be run on a host that is set up, as root: e2e/own-host.sh node bench/pools.ts [rounds]
 */
const rounds = Number(process.argv[2] ?? 20);
const COLD = { vcpu_count: 1, mem_size_mib: 255 };
const POOLED = { vcpu_count: 1, mem_size_mib: 256 };
// What is being made when the pool says it is full, such as a machine that is loaded, has this long to be done.
const SETTLE_MS = 1500;

// Kept in the environment: what root starts becomes this program again, as the daemon's user.
const stateDir = (process.env.SERVICE_STATE_DIR ??= await mkdtemp(join(tmpdir(), 'atoll-bench-')));
const config = (standby: number) =>
  loadConfig({
    ...process.env,
    SERVICE_LISTEN_ADDR: '127.0.0.1:0',
    SERVICE_SNAPSHOTS_DIR: join(stateDir, 'snapshots'),
    SERVICE_POOL_STANDBY: String(standby),
    SERVICE_LOG_LEVEL: 'silent',
  }).config;
await dropRoot(config(0));

try {
  console.log(`${availableParallelism()} cores, ${rounds} rounds, milliseconds`);
  console.log('                         min   p50   p95   max');
  for (const [name, standby] of [
    ['a pool’s snapshot', 0],
    ['a loaded machine', 1],
  ] as const) {
    const [cold, pooled] = await measure(standby);
    console.log(`booted                ${row(cold)}`);
    console.log(`${name.padEnd(22)}${row(pooled)}`);
  }
} finally {
  await rm(stateDir, { recursive: true, force: true });
}

async function measure(standby: number): Promise<[cold: number[], pooled: number[]]> {
  const daemon = await startDaemon(config(standby), []);
  const [cold, pooled]: [number[], number[]] = [[], []];
  try {
    await call(daemon.url, 'POST', '/pools', { id: 'bench', ...POOLED, warm_count: 1 });
    // The first of each warms the page cache and is not counted.
    for (let round = 0; round <= rounds; round += 1) {
      const a = await timeToOutput(daemon.url, COLD);
      while (!(await isFilled(daemon.url))) await sleep(20);
      await sleep(SETTLE_MS);
      const b = await timeToOutput(daemon.url, POOLED);
      if (round === 0) continue;
      cold.push(a);
      pooled.push(b);
    }
    await call(daemon.url, 'DELETE', '/pools/bench');
    return [cold, pooled];
  } finally {
    await daemon.stop.disposeAsync();
  }
}

async function timeToOutput(url: string, body: object): Promise<number> {
  const started = performance.now();
  const { id } = (await call(url, 'POST', '/sandboxes', body)) as { id: string };
  await call(url, 'POST', `/sandboxes/${id}/exec`, { command: 'echo', args: ['hello'] });
  const took = performance.now() - started;
  await call(url, 'DELETE', `/sandboxes/${id}?keep=false`);
  return took;
}

async function isFilled(url: string): Promise<boolean> {
  const { pools } = (await call(url, 'GET', '/pools')) as { pools: { warm_ready: number }[] };
  return pools[0]?.warm_ready === 1;
}

async function call(url: string, method: string, path: string, body?: object): Promise<unknown> {
  const init = body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const response = await fetch(url + path, { method, ...init });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}

function row(times: number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (q: number) => sorted[Math.round(q * (sorted.length - 1))] ?? Number.NaN;
  return [0, 0.5, 0.95, 1].map((q) => at(q).toFixed(0).padStart(6)).join('');
}

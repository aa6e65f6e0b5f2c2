/**
 * The daemon, made to go wrong. While the file `fault` of its state directory holds a point (lib/fault-points.ts) and a victim,
 * `daemon` or `vm`, that victim is killed at that point, once.
 */
import { readdir, readFile, rm } from 'node:fs/promises';
import { startDaemon } from '../compose.ts';
import { loadConfig } from '../config.ts';
import type { FaultPoint } from '../lib/fault-points.ts';
import { join } from 'node:path';
import { dropRoot } from '../privileges.ts';

const { config, unknown } = loadConfig(process.env);
await dropRoot(config);
const FILE = join(config.stateDir, 'fault');
const { stop } = await startDaemon(config, unknown, atPoint);
process.on('SIGTERM', () => void stop.disposeAsync());

async function atPoint(point: FaultPoint): Promise<void> {
  const [at, victim] = (await readFile(FILE, 'utf8').catch(() => '')).trim().split(' ');
  if (at !== point) return;
  await rm(FILE);
  if (victim === 'daemon') process.kill(process.pid, 'SIGKILL');
  for (const pid of await machines()) process.kill(pid, 'SIGKILL');
}

/** Children of this process that are VMs. */
async function machines(): Promise<number[]> {
  const found: number[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    const [, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (Number(parent) === process.pid && stat.includes('(qemu-system')) found.push(pid);
  }
  return found;
}

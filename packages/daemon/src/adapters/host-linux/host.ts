import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cgroupMount, ownCgroup } from '../../lib/cgroup.ts';
import type { Host } from '../../ports/host.ts';

// Above this a limit of the user's is no matter, and not worth looking at every process for.
const AMPLE = 4096;

/** The host as /proc and the daemon's cgroups show it. */
export class LinuxHost implements Host {
  /** MemAvailable of proc(5). */
  async availableMemoryBytes(): Promise<number> {
    const match = /^MemAvailable:\s+(\d+) kB$/m.exec(await readFile('/proc/meminfo', 'utf8'));
    if (match === null) throw new Error('/proc/meminfo has no MemAvailable');
    return Number(match[1]) * 1024;
  }

  async freeProcesses(): Promise<number> {
    const rooms = await Promise.all([roomOfKernel(), roomOfCgroups(), roomOfUser()]);
    return Math.max(0, Math.min(...rooms));
  }
}

/** Of all tasks there are: proc(5), loadavg, and sysctl kernel.threads-max and kernel.pid_max. */
async function roomOfKernel(): Promise<number> {
  const [threads, pids, load] = await Promise.all(
    ['sys/kernel/threads-max', 'sys/kernel/pid_max', 'loadavg'].map((name) =>
      readFile(join('/proc', name), 'utf8'),
    ),
  );
  return Math.min(Number(threads), Number(pids)) - tasksOf(load ?? '');
}

export function tasksOf(loadavg: string): number {
  return Number(/\/(\d+) /.exec(loadavg)?.[1] ?? 0);
}

/** Of the daemon's cgroup and of those above it. */
async function roomOfCgroups(): Promise<number> {
  const [mount, own] = await Promise.all([cgroupMount(), ownCgroup()]);
  if (mount === undefined || own === undefined) return Infinity;
  const rooms: number[] = [];
  for (let at = own; at.startsWith(`${mount}/`); at = dirname(at)) {
    const [max, current] = await Promise.all(
      ['pids.max', 'pids.current'].map((name) => readFile(join(at, name), 'utf8').catch(() => '')),
    );
    if (/^\d+$/.test((max ?? '').trim())) rooms.push(Number(max) - Number(current));
  }
  return Math.min(Infinity, ...rooms);
}

/** Of RLIMIT_NPROC, which counts the threads of all of a user's processes. */
async function roomOfUser(): Promise<number> {
  const limit = processLimit(await readFile('/proc/self/limits', 'utf8'));
  const all = tasksOf(await readFile('/proc/loadavg', 'utf8'));
  if (limit - all > AMPLE) return limit - all;
  return limit - (await threadsOf(process.getuid?.() ?? 0));
}

export function processLimit(limits: string): number {
  const soft = /^Max processes\s+(\S+)/m.exec(limits)?.[1];
  return soft === undefined || soft === 'unlimited' ? Infinity : Number(soft);
}

async function threadsOf(uid: number): Promise<number> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const counts = await Promise.all(
    pids.map(async (pid) => {
      try {
        if ((await stat(`/proc/${pid}`)).uid !== uid) return 0;
        return (await readdir(`/proc/${pid}/task`)).length;
      } catch {
        return 0; // Gone.
      }
    }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

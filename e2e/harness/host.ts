import { execFile } from 'node:child_process';
import { readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Ids of the processes, of whatever program, that work in one of a daemon's machine directories: its VMs. */
export async function machinePids(stateDir: string): Promise<number[]> {
  return (await machines(stateDir)).map(({ pid }) => pid);
}

/** Of each such process the directory, which is its sandbox's id. */
export async function machineNames(stateDir: string): Promise<string[]> {
  return (await machines(stateDir)).map(({ name }) => name);
}

/** The process of one sandbox's VM. */
export async function machinePid(stateDir: string, id: string): Promise<number> {
  const found = (await machines(stateDir)).find(({ name }) => name === id);
  if (found === undefined) throw new Error(`sandbox ${id} has no process`);
  return found.pid;
}

/** Processes that work below `machines`, or did until it was removed, and in which directory there. */
async function machines(stateDir: string): Promise<{ pid: number; name: string }[]> {
  const dir = join(stateDir, 'machines');
  const found: { pid: number; name: string }[] = [];
  for (const pid of await allPids()) {
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '');
    if (cwd.startsWith(`${dir}/`)) found.push({ pid, name: cwd.slice(dir.length + 1) });
  }
  return found;
}

/** Names below a daemon's `machines` directory. */
export async function machineDirs(stateDir: string): Promise<string[]> {
  return readdir(join(stateDir, 'machines'));
}

/** A daemon's children without its name server and its netlink helper, dead ones that nobody waited for included. */
export async function childrenOf(parent: number): Promise<number[]> {
  const found: number[] = [];
  for (const pid of await allPids()) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    if (/ \((dnsmasq|atoll-netlink)\) /.test(stat)) continue;
    // The name, in brackets, may hold anything: the state and the parent come behind the last bracket.
    const [, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (Number(ppid) === parent) found.push(pid);
  }
  return found;
}

/** The addresses of this host's sandboxes that have a policy: one for each lease that is open. */
export async function addressesWithPolicy(): Promise<string[]> {
  const { stdout } = await execute('nft', ['list', 'map', 'inet', 'atoll0', 'policies']);
  return [...stdout.matchAll(/([\d.]+) : /g)].map(([, address = '']) => address);
}

/** What this host and its bridge are told of where sandboxes are, a line each. */
export async function stations(): Promise<string[]> {
  const [entries, neighbours] = await Promise.all([
    execute('bridge', ['fdb', 'show', 'br', 'atoll0']),
    execute('ip', ['neighbour', 'show', 'dev', 'atoll0', 'nud', 'permanent']),
  ]);
  const placed = entries.stdout.split('\n').filter((line) => line.includes(' static'));
  return [...placed, ...neighbours.stdout.split('\n')].filter((line) => line.trim() !== '');
}

/** Open files of a process. */
export async function openFds(pid: number): Promise<number> {
  return (await readdir(`/proc/${pid}/fd`)).length;
}

/** What a process uses of memory while something is done, at most, above what it uses before; in bytes. */
export async function peakGrowth(pid: number, action: () => Promise<void>): Promise<number> {
  const before = await statusBytes(pid, 'VmRSS');
  // 5 makes the peak (VmHWM) start anew: proc(5).
  await writeFile(`/proc/${pid}/clear_refs`, '5');
  await action();
  return (await statusBytes(pid, 'VmHWM')) - before;
}

/** The arguments of every process, as `ps` shows them to everyone. */
export async function allCommandLines(): Promise<string> {
  const lines = (await allPids()).map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''));
  return (await Promise.all(lines)).join('\n').replaceAll('\0', ' ');
}

/** The environment that a process was started with. */
export async function environmentOf(pid: number): Promise<string> {
  return readFile(`/proc/${pid}/environ`, 'utf8');
}

async function statusBytes(pid: number, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  return kibField(await readFile(`/proc/${pid}/status`, 'utf8'), field) * 1024;
}

/** A field of /proc/<pid>/status or /proc/meminfo, in KiB. */
export function kibField(text: string, field: string): number {
  const match = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text);
  if (match === null) throw new Error(`no ${field} in:\n${text}`);
  return Number(match[1]);
}

/** Every process there is. */
export async function allPids(): Promise<number[]> {
  return (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
}

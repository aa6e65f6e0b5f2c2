/** Jails as root of the machine sees them from outside. */
import { existsSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { patient } from '../../packages/daemon/src/testing/patience.ts';
import { allPids } from '../harness/host.ts';
import { timed } from '../harness/poll.ts';
import type { Sandbox } from '../harness/sandbox.ts';

const EXEC_MS = patient(20_000);

/** The QEMU of one jailed sandbox. */
export interface Monitor {
  readonly pid: number;
  readonly cgroup: string;
  /** Fields of /proc/<pid>/status, their values as they stand there. */
  readonly status: Readonly<Record<string, string>>;
}

/** A daemon that makes jails. */
export interface Jailer {
  readonly pid: number;
  readonly stateDir: string;
}

/** A sandbox, or what is to be one. */
type Identified = Pick<Sandbox, 'id'>;

/** The monitor of a sandbox: what runs in the cgroup that is named from it, beside the daemon's own. */
export async function monitorOf({ pid: daemon }: Jailer, { id }: Identified): Promise<Monitor> {
  const own = /^0::(\/.*)$/m.exec(await readFile(`/proc/${daemon}/cgroup`, 'utf8'))?.[1] ?? '';
  if (basename(own) !== 'daemon') throw new Error(`the daemon is in the cgroup ${own}`);
  const cgroup = join('/sys/fs/cgroup', dirname(own), `vm-${id}`);
  const pids = (await readFile(join(cgroup, 'cgroup.procs'), 'utf8')).trim().split('\n').map(Number);
  for (const pid of pids) {
    const status = await statusOf(pid);
    if (status['Name']?.startsWith('qemu-system')) return { pid, cgroup, status };
  }
  throw new Error(`no monitor is in ${cgroup}`);
}

export async function statusOf(pid: number): Promise<Record<string, string>> {
  const lines = (await readFile(`/proc/${pid}/status`, 'utf8')).trimEnd().split('\n');
  return Object.fromEntries(lines.map((line) => line.split(/:\s*/, 2) as [string, string]));
}

/** A process's namespaces. */
export function namespacesOf(pid: number): Promise<string[]> {
  const kinds = ['mnt', 'pid', 'ipc', 'uts', 'net', 'cgroup', 'user'];
  return Promise.all(kinds.map((kind) => readlink(`/proc/${pid}/ns/${kind}`)));
}

export interface Mount {
  /** As the process itself sees it. */
  readonly path: string;
  readonly type: string;
  readonly isWritable: boolean;
}

/** What a process has mounted (mountinfo of proc(5)). */
export async function mountsOf(pid: number): Promise<Mount[]> {
  const lines = (await readFile(`/proc/${pid}/mountinfo`, 'utf8')).trimEnd().split('\n');
  return lines.map((line) => {
    const [, , , , path = '', options = ''] = line.split(' ');
    const [type = ''] = line.split(' - ')[1]?.split(' ') ?? [];
    return { path, type, isWritable: options.split(',').includes('rw') };
  });
}

/** The root directory of a process, as that process sees it. */
export async function rootOf(pid: number): Promise<string[]> {
  return (await readdir(`/proc/${pid}/root/`)).toSorted();
}

/** A file of a monitor's cgroup. */
export async function limitOf({ cgroup }: Monitor, file: string): Promise<string> {
  return (await readFile(join(cgroup, file), 'utf8')).trim();
}

/** A figure in a file of a monitor's cgroup, the sum where it is there several times: `usage_usec 5`, `wbytes=5`. */
export async function figureOf(monitor: Monitor, file: string, name: string): Promise<number> {
  const found = (await limitOf(monitor, file)).matchAll(new RegExp(`\\b${name}[ =](\\d+)`, 'g'));
  return [...found].reduce((sum, [, figure]) => sum + Number(figure), 0);
}

/** The bytes that guests have sent. */
export async function bytesSent(): Promise<number> {
  const taps = (await readdir('/sys/class/net')).filter((name) => name.startsWith('atoll-'));
  const sent = taps.map((tap) => readFile(`/sys/class/net/${tap}/statistics/rx_bytes`, 'utf8'));
  return (await Promise.all(sent)).reduce((sum, bytes) => sum + Number(bytes), 0);
}

/** What is left of a sandbox: processes that are its jail's user or have its name, its cgroup, its directory. */
export async function remainsOf(
  { stateDir }: Jailer,
  { id }: Identified,
  { cgroup, status }: Monitor,
): Promise<string[]> {
  const processes = await Promise.all((await allPids()).map((pid) => belongs(pid, id, status['Uid'])));
  const paths = [cgroup, join(stateDir, 'machines', id)];
  return [...processes.filter((line) => line !== undefined), ...paths.filter((path) => existsSync(path))];
}

async function belongs(pid: number, id: string, uids: string | undefined): Promise<string | undefined> {
  try {
    const { Uid, Name } = await statusOf(pid);
    const isNamed = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).includes(`\0atoll-${id}\0`);
    return isNamed || Uid === uids ? `${Name} ${pid}` : undefined;
  } catch {
    return undefined; // It has ended.
  }
}

/** How long each of some execs takes to answer, in milliseconds. Rejects when one does not. */
export async function execTimes(sandbox: Sandbox, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const call = sandbox.exec('true', [], {}, { signal: AbortSignal.timeout(EXEC_MS) });
    times.push((await timed(call)).ms);
  }
  return times;
}

/** Times, for a person to read. */
export function summary(times: readonly number[]): string {
  const sorted = times.map(Math.round).toSorted((a, b) => a - b);
  return `median ${sorted[Math.floor(sorted.length / 2)]} ms, longest ${sorted.at(-1)} ms`;
}

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What limits a group of processes, by the kernel's names. */
export const CONTROLLERS = ['memory', 'cpu', 'pids', 'io'] as const;

/** Where cgroup v2 is mounted; undefined where it is not. A host with both versions has it without controllers. */
export async function cgroupMount(): Promise<string | undefined> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
  return lines.find((line) => line.includes(' - cgroup2 '))?.split(' ')[4];
}

/** This process's own cgroup of version 2, as a path. */
export async function ownCgroup(): Promise<string | undefined> {
  const mount = await cgroupMount();
  const own = /^0::(\/.*)$/m.exec(await readFile('/proc/self/cgroup', 'utf8'))?.[1];
  return mount === undefined || own === undefined ? undefined : join(mount, own);
}

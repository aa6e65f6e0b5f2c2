import { readFile } from 'node:fs/promises';

/** Memory that the host could hand out now without swapping, in bytes: MemAvailable of proc(5). */
export async function availableMemoryBytes(): Promise<number> {
  const match = /^MemAvailable:\s+(\d+) kB$/m.exec(await readFile('/proc/meminfo', 'utf8'));
  if (match === null) throw new Error('/proc/meminfo has no MemAvailable');
  return Number(match[1]) * 1024;
}

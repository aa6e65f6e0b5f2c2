import { readFile } from 'node:fs/promises';

/** What /proc/<pid>/stat counts in (sysconf(_SC_CLK_TCK), 100 on every Linux that Debian builds). */
export const TICKS_PER_SECOND = 100;

/** Time that a process has spent on processors, its own and the kernel's for it, in ticks. */
export async function processorTicks(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name, in brackets, may hold anything; user and system time are fields 14 and 15 of proc(5).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

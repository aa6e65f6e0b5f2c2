import { readdir, readFile, readlink } from 'node:fs/promises';
import { sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

// A killed process is gone within milliseconds; one in an uninterruptible wait may take longer.
const GONE_WITHIN_MS = 10_000;
const POLL_MS = 20;

/**
 * Kills every QEMU that runs below a directory and waits until it is gone. A machine runs in a directory of its own, so the
 * working directory tells whose it is. Machines die with their daemon; this is for those whose daemon was another process.
 */
export async function killMachines(machinesDir: string): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const mine: number[] = [];
  for (const pid of pids) if (await isMachine(pid, machinesDir)) mine.push(pid);
  for (const pid of mine) kill(pid);
  const until = performance.now() + GONE_WITHIN_MS;
  for (const pid of mine) {
    while (await isMachine(pid, machinesDir)) {
      if (performance.now() > until) throw new Error(`process ${pid}, a VM of an earlier run, does not end`);
      await sleep(POLL_MS);
    }
  }
  return mine;
}

async function isMachine(pid: number, machinesDir: string): Promise<boolean> {
  try {
    const cwd = await readlink(`/proc/${pid}/cwd`);
    const name = await readFile(`/proc/${pid}/comm`, 'utf8');
    // setpriv is what a machine's process is called until it has become QEMU.
    return cwd.startsWith(machinesDir + sep) && /^(qemu-system|setpriv)/.test(name);
  } catch {
    return false; // Gone, or another user's.
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

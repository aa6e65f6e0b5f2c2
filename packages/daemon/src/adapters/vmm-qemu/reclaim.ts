import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { machineName } from './argv.ts';

// A killed process is gone within milliseconds; one in an uninterruptible wait may take longer.
const GONE_WITHIN_MS = 10_000;
const POLL_MS = 20;

/**
 * Kills every QEMU whose machine has a directory here, and waits until it is gone. A machine's name has its sandbox's id, and
 * so has its directory; the process's working directory would not do, since a daemon may see the file system otherwise than
 * the next one. Machines die with their daemon; this is for those whose daemon was another process.
 */
export async function killMachines(machinesDir: string): Promise<readonly number[]> {
  const names = new Set((await machineDirs(machinesDir)).map(machineName));
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const mine: number[] = [];
  for (const pid of pids) if (await isMachine(pid, names)) mine.push(pid);
  for (const pid of mine) kill(pid);
  const until = performance.now() + GONE_WITHIN_MS;
  for (const pid of mine) {
    while (await isMachine(pid, names)) {
      if (performance.now() > until) throw new Error(`process ${pid}, a VM of an earlier run, does not end`);
      await sleep(POLL_MS);
    }
  }
  return mine;
}

async function machineDirs(machinesDir: string): Promise<string[]> {
  try {
    return await readdir(machinesDir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

async function isMachine(pid: number, names: ReadonlySet<string>): Promise<boolean> {
  try {
    // Empty for a dead process that nobody has waited for.
    const args = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0');
    const name = args[args.indexOf('-name') + 1];
    // The others are what a machine's process is until it has become QEMU, and bwrap is what holds a jail.
    return (
      /(qemu-system-[^/]*|setpriv|perl|prlimit|bwrap)$/.test(args[0] ?? '') &&
      name !== undefined &&
      names.has(name)
    );
  } catch {
    return false; // Gone.
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

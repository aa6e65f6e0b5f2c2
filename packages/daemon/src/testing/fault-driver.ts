/**
 * The daemon, made to go wrong. A file of the directory `faults` below its state directory, named by a point (lib/fault-points.ts), holds what
 * is to happen there: it happens once, and the file is gone then. A file `clock` there holds the seconds that the daemon's clock is wrong by.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readdir, readFile, readlink, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startDaemon } from '../compose.ts';
import { loadConfig } from '../config.ts';
import type { AtPoint, Fault, Passing } from '../lib/fault-points.ts';
import { dropRoot } from '../privileges.ts';
import { serve } from '../serve.ts';

const { config, unknown } = loadConfig(process.env);
const DIR = join(config.stateDir, 'faults');
shiftClock();
await dropRoot(config);
void serve((ending) => startDaemon(config, unknown, ending, atPoint)).then((outcome) => {
  process.exitCode = outcome === 'stopped' ? 0 : 1;
});

async function atPoint(...[point, passing]: Parameters<AtPoint>): Promise<void> {
  const taken = join(DIR, `.${point}`);
  try {
    await rename(join(DIR, point), taken); // Of many that pass at a time only one has it.
  } catch {
    return;
  }
  const fault = await readFile(taken, 'utf8');
  await rm(taken);
  await happen(fault as Fault, point, passing);
}

async function happen(fault: Fault, point: string, { id, signal }: Passing): Promise<void> {
  if (fault === 'error') throw new Error(`injected at ${point}`);
  if (fault === 'daemon killed') {
    process.kill(process.pid, 'SIGKILL');
    await new Promise(() => undefined);
  }
  if (fault === 'hang' && signal !== undefined) {
    if (!signal.aborted) await once(signal, 'abort');
    signal.throwIfAborted();
  }
  if (fault.startsWith('vm') && id !== undefined)
    for (const pid of await machinesOf(id)) process.kill(pid, fault === 'vm killed' ? 'SIGKILL' : 'SIGSTOP');
}

/** The VM of a sandbox: a child of this process that runs in its directory. */
async function machinesOf(id: string): Promise<number[]> {
  const found: number[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)) {
    const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '');
    if (cwd === join(config.stateDir, 'machines', id)) found.push(pid);
  }
  return found;
}

/** Has every reading of the time of day be wrong by what the file says at that moment; what is measured (`performance.now`) stays right. */
function shiftClock(): void {
  const now = Date.now.bind(Date);
  Date.now = () => {
    try {
      return now() + Number(readFileSync(join(DIR, 'clock'), 'utf8')) * 1000;
    } catch {
      return now();
    }
  };
}

import { readFile } from 'node:fs/promises';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import type { BareMachines } from './bare.ts';

/** What the figures depend on, by name. */
export type Facts = Readonly<Record<string, string>>;

export async function factsOf({ config, profile }: BareMachines, rounds: number): Promise<Facts> {
  const { kernelPath } = config;
  const { accelerator, monitor } = profile;
  const [load = ''] = (await readFile('/proc/loadavg', 'utf8')).split(' ');
  return {
    accelerator: accelerator === 'tcg' ? 'none, guests are emulated (tcg)' : accelerator,
    monitor,
    'guest kernel': await kernelVersion(kernelPath),
    'host kernel': release(),
    processors: `${availableParallelism()} of ${cpus()[0]?.model ?? 'an unknown kind'}`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    node: process.version,
    caches: 'warm: each scenario makes one round more than it counts',
    'load at the start': load,
    rounds: String(rounds),
  };
}

/** As the kernel's own banner has it. */
async function kernelVersion(path: string): Promise<string> {
  const banner = /Linux version (\S+)/.exec((await readFile(path)).toString('latin1'));
  return banner?.[1] ?? 'unknown';
}

import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { run } from '../../../lib/run.ts';

// Where Debian keeps what QEMU opens by itself: firmware, and the emulator, which is a module.
const DATA = ['/usr/share/qemu', '/usr/share/seabios'];
const MODULES = ['/usr/lib/x86_64-linux-gnu/qemu', '/usr/lib/qemu'].map((dir) =>
  join(dir, 'accel-tcg-x86_64.so'),
);

/** The path of a program, as PATH has it; undefined when it is not there. */
export function findProgram(name: string): string | undefined {
  const dirs = (process.env.PATH ?? '').split(delimiter);
  return dirs.map((dir) => join(dir, name)).find((path) => existsSync(path));
}

/** All that programs need of a host to run: themselves, their libraries, the loader, and what QEMU reads. */
export async function filesOfPrograms(programs: readonly string[], signal: AbortSignal): Promise<string[]> {
  const modules = MODULES.filter((path) => existsSync(path));
  const libraries = await Promise.all([...programs, ...modules].map((path) => librariesOf(path, signal)));
  const data = DATA.filter((path) => existsSync(path));
  return [...new Set([...programs, ...modules, ...libraries.flat(), ...data])].toSorted();
}

/** What ldd(1) lists: `name => path (address)`, and the loader by its path alone. */
async function librariesOf(path: string, signal: AbortSignal): Promise<string[]> {
  const listed = await run('ldd', [await realpath(path)], signal);
  return [...listed.matchAll(/(?:=> |^\s*)(\/\S+) \(0x/gm)].map(([, library = '']) => library);
}

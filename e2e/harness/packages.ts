import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** A tar of an npm package of this checkout with all it depends on, to be unpacked in a node_modules directory. */
export async function packageBundle(name: string): Promise<Buffer> {
  const names = new Set<string>();
  await collect(name, names);
  const tar = await run('tar', ['-cf', '-', '-C', MODULES, ...names], {
    encoding: 'buffer',
    maxBuffer: 512 * 1024 * 1024,
  });
  return tar.stdout;
}

/** What is optional is there for this machine's kind of processor and system, which is the guest's too, or not at all. */
async function collect(name: string, names: Set<string>): Promise<void> {
  if (names.has(name) || !existsSync(join(MODULES, name))) return;
  names.add(name);
  const manifest = JSON.parse(await readFile(join(MODULES, name, 'package.json'), 'utf8')) as Manifest;
  const needed = { ...manifest.dependencies, ...manifest.optionalDependencies };
  for (const each of Object.keys(needed)) await collect(each, names);
}

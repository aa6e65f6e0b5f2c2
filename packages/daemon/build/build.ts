/**
 * Builds dist/, the daemon in JavaScript, which is what runs (ADR 31). Its libraries stay where npm puts them. What is built already is left as
 * it is, and what is not is put in place whole: a daemon may start meanwhile.
 */
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const HERE = fileURLToPath(new URL('..', import.meta.url));
const DIST = join(HERE, 'dist');

// Goes with the code that runs it.
const LAUNCHER = join(HERE, 'src/adapters/vmm-qemu/jail/launch.pl');

interface Manifest {
  dependencies: Record<string, string>;
}

const { dependencies } = JSON.parse(await readFile(join(HERE, 'package.json'), 'utf8')) as Manifest;
const { outputFiles } = await build({
  absWorkingDir: HERE,
  // The second is a thread's program.
  entryPoints: ['src/main.ts', 'src/adapters/history-sqlite/checkpoint.ts'],
  outdir: DIST,
  entryNames: '[name]',
  bundle: true,
  splitting: true,
  format: 'esm',
  target: 'node24',
  // Node 24 has it; esbuild knows that of later ones alone.
  supported: { using: true },
  platform: 'node',
  // The contract is TypeScript as well.
  external: Object.keys(dependencies).filter((name) => name !== '@atoll/contract'),
  write: false,
  logLevel: 'warning',
});

await mkdir(DIST, { recursive: true });
const files = new Map(outputFiles.map(({ path, contents }) => [basename(path), Buffer.from(contents)]));
files.set(basename(LAUNCHER), await readFile(LAUNCHER));
for (const [name, contents] of files) await place(join(DIST, name), contents);
for (const name of await readdir(DIST))
  if (name.endsWith('.js') && !files.has(name)) await rm(join(DIST, name), { force: true });

async function place(path: string, contents: Buffer): Promise<void> {
  const there = await readFile(path).catch(() => undefined);
  if (there?.equals(contents)) return;
  const part = `${path}.${process.pid}`;
  await writeFile(part, contents);
  await rename(part, path);
}

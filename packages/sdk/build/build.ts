/** Builds dist/: one bundle of JavaScript for every platform, what needs files and TCP apart from it, and the declarations. */
import { execFile } from 'node:child_process';
import { copyFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';

const HERE = fileURLToPath(new URL('..', import.meta.url));

await rm(`${HERE}/dist`, { recursive: true, force: true });
await build({
  absWorkingDir: HERE,
  entryPoints: ['src/index.ts', 'src/trees.ts', 'src/local.ts', 'src/no-local.ts'],
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  target: 'es2022',
  platform: 'neutral',
  external: ['node:*'],
  // Its file system part is for Node; there is nothing else of it here.
  conditions: ['node', 'import'],
  // Errors and what is logged name their classes.
  keepNames: true,
  legalComments: 'inline',
  logLevel: 'warning',
});
// The checkout's own: the generator of types brings an older one along.
const tsc = createRequire(new URL('../../../package.json', import.meta.url)).resolve('typescript/bin/tsc');
await promisify(execFile)(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: HERE });
// Both come along in the package.
await copyFile(`${HERE}/../../LICENSE`, `${HERE}/dist/LICENSE`);
const tar = fileURLToPath(import.meta.resolve('modern-tar'));
await copyFile(join(dirname(tar), '../../LICENSE'), `${HERE}/dist/LICENSE.modern-tar`);

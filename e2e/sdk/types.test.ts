import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { packedSdk } from './packed.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** As strict as a compiler of today is when a project begins with it. */
const CONFIG = {
  compilerOptions: {
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable', 'dom', 'dom.iterable', 'dom.asynciterable'],
    module: 'nodenext',
    types: [],
    strict: true,
    noEmit: true,
    // The package's own declarations are looked at too.
    skipLibCheck: false,
  },
  files: ['use.ts'],
};

it('what is right compiles and misuse does not', { timeout: 120_000 }, async () => {
  const dir = await mkdtemp(join(tmpdir(), 'atoll-sdk-types-'));
  try {
    await copyFile(new URL('misuse.ts', import.meta.url), join(dir, 'use.ts'));
    await symlink(join(await packedSdk(), 'node_modules'), join(dir, 'node_modules'));
    await writeFile(join(dir, 'package.json'), '{ "type": "module" }');
    await writeFile(join(dir, 'tsconfig.json'), JSON.stringify(CONFIG));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const { stdout } = await promisify(execFile)(process.execPath, [tsc, '-p', dir]).catch(
      (error: unknown) => ({
        stdout: (error as { stdout: string }).stdout,
      }),
    );
    expect(stdout).toBe('');
  } finally {
    await rm(dir, { recursive: true });
  }
});

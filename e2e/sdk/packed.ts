import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type * as Sdk from '../../packages/sdk/src/index.ts';

const run = promisify(execFile);
const PACKAGE = fileURLToPath(new URL('../../packages/sdk', import.meta.url));
const CACHE = fileURLToPath(new URL('../../node_modules/.cache', import.meta.url));
const PREFIX = 'atoll-sdk-';

/**
 * A folder with nothing in it but the package, packed and installed as its users have it, and the tarball. Made once for each
 * state of its source.
 */
export async function packedSdk(): Promise<string> {
  const folder = join(CACHE, PREFIX + (await digestOf(PACKAGE)));
  if (existsSync(folder)) return folder;
  await mkdir(CACHE, { recursive: true });
  for (const name of await readdir(CACHE))
    if (name.startsWith(PREFIX)) await rm(join(CACHE, name), { recursive: true, force: true });
  const draft = await mkdtemp(join(CACHE, `${PREFIX}draft-`));
  await run('npm', ['pack', '--pack-destination', draft], { cwd: PACKAGE });
  await writeFile(join(draft, 'package.json'), '{ "private": true, "type": "module" }');
  const [tarball = ''] = (await readdir(draft)).filter((name) => name.endsWith('.tgz'));
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', `./${tarball}`], { cwd: draft });
  await rename(draft, folder);
  return folder;
}

/** The installed package. */
export async function importSdk(): Promise<typeof Sdk> {
  const file = join(await packedSdk(), 'node_modules/@atoll/sdk/dist/index.js');
  return (await import(pathToFileURL(file).href)) as typeof Sdk;
}

async function digestOf(folder: string): Promise<string> {
  const hash = createHash('sha256');
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !/\/(dist|node_modules)\//.test(path));
  for (const path of files.toSorted()) hash.update(path).update(await readFile(path));
  return hash.digest('hex').slice(0, 16);
}

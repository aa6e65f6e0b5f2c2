import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const PACKAGES = ['sdk', 'cli'];
const PACKING_MS = 120_000;

/**
 * The command as its users have it: packed together with the SDK, and installed into an empty folder. Answers the path of `atoll`.
 * What was packed of the same sources before is taken again.
 */
export async function installedCli(): Promise<string> {
  const place = join(tmpdir(), `atoll-cli-${await fingerprint()}`);
  const command = join(place, 'node_modules/.bin/atoll');
  if ((await stat(command).catch(() => undefined)) !== undefined) return command;
  const work = await mkdtemp(`${place}-`);
  try {
    const tarballs = [];
    for (const name of PACKAGES) tarballs.push(await packed(name, work));
    await writeFile(join(work, 'package.json'), '{"private": true}\n');
    // No registry is asked: nothing else is needed.
    await run('npm', ['install', '--offline', '--no-audit', '--no-fund', ...tarballs], {
      cwd: work,
      timeout: PACKING_MS,
    });
    await rename(work, place);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return command;
}

async function packed(name: string, into: string): Promise<string> {
  const cwd = join(ROOT, 'packages', name);
  const { stdout } = await run('npm', ['pack', '--pack-destination', into, '--json'], {
    cwd,
    timeout: PACKING_MS,
  });
  // What the package's own build prints comes first.
  const told = JSON.parse(stdout.slice(stdout.search(/^[[{]/m))) as unknown;
  const [{ filename }] = (Array.isArray(told) ? told : Object.values(told as object)) as [
    { filename: string },
  ];
  return join(into, filename);
}

async function fingerprint(): Promise<string> {
  const hash = createHash('sha256');
  for (const name of PACKAGES) {
    const folder = join(ROOT, 'packages', name);
    for (const each of (await readdir(folder, { recursive: true })).sort()) {
      if (/(^|\/)(node_modules|dist)(\/|$)/.test(each)) continue;
      const path = join(folder, each);
      if ((await stat(path)).isFile()) hash.update(each).update(await readFile(path));
    }
  }
  return hash.digest('hex').slice(0, 16);
}

/** An empty folder for a test, which is gone at its end. */
export async function emptyFolder() {
  const path = await mkdtemp(join(tmpdir(), 'atoll-cli-test-'));
  await mkdir(join(path, 'home'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

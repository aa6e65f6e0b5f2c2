import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** The host's own static busybox, or the one of Debian's package, which is fetched but not installed. */
export async function findBusybox(place: string): Promise<string> {
  if (await isStatic('/bin/busybox')) return '/bin/busybox';
  await execute('apt-get', ['download', 'busybox-static'], { cwd: place });
  const deb = (await readdir(place)).find((name) => name.endsWith('.deb'));
  if (deb === undefined) throw new Error('apt-get fetched nothing');
  await execute('dpkg-deb', ['--extract', deb, 'package'], { cwd: place });
  for (const path of ['bin/busybox', 'usr/bin/busybox']) {
    const found = join(place, 'package', path);
    if (await isStatic(found)) return found;
  }
  throw new Error('the package holds no static busybox');
}

/** Whether a program is there and asks for no loader: ldd fails on those, and says so on either stream. */
async function isStatic(path: string): Promise<boolean> {
  try {
    const { stdout } = await execute('ldd', [path]);
    return stdout.includes('statically linked');
  } catch (error) {
    return (error as { stderr?: string }).stderr?.includes('not a dynamic executable') ?? false;
  }
}

import { chmod, copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeExt4 } from './files.ts';

/** Makes an ext4 file with little more than a shell in it, as `alpine.ext4` in that directory, and answers its path. */
export async function makeAlpineLike(dir: string, busybox: string): Promise<string> {
  const root = join(dir, 'alpine');
  for (const name of ['bin', 'etc', 'proc', 'tmp']) await mkdir(join(root, name), { recursive: true });
  await copyFile(busybox, join(root, 'bin/busybox'));
  await chmod(join(root, 'bin/busybox'), 0o755);
  for (const name of ['sh', 'cat', 'ls', 'touch']) await symlink('busybox', join(root, 'bin', name));
  await writeFile(join(root, 'etc/os-release'), 'ID=alpine-like\n');
  const image = join(dir, 'alpine.ext4');
  await makeExt4(image, '64M', root);
  return image;
}

import { access, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Bytes that a file has on its disk; 0 when it is not there. */
export async function allocated(path: string): Promise<number> {
  try {
    return (await stat(path)).blocks * 512;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}

/** Whether there is anything by that name. */
export async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/**
 * Whether files of one directory can be renamed into another. Found out by trying: two mounts of one file system look like one
 * and are not.
 */
export async function canRename(from: string, to: string): Promise<boolean> {
  const [here, there] = [join(from, '.trial'), join(to, '.trial')];
  await writeFile(here, '');
  try {
    await rename(here, there);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EXDEV') return false;
    throw error;
  } finally {
    await Promise.all([rm(here, { force: true }), rm(there, { force: true })]);
  }
}

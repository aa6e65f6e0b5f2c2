import { constants, copyFile, stat, truncate, writeFile } from 'node:fs/promises';
import type { MemoryCopy } from '../../ports/snapshots.ts';
import { run } from '../../lib/run.ts';

// What `copyFile` fails with where files cannot share their blocks (ioctl_ficlone(2)).
const NO_CLONE = ['ENOTSUP', 'EOPNOTSUPP', 'EXDEV', 'EINVAL', 'ENOSYS', 'ENOTTY'];

/**
 * Begins the copy of a sparse file to a new one, which has its size at once. Blocks are shared where the file system can; else
 * qemu-img copies what is not a hole into the file, which somebody may have mapped meanwhile: cp would cut it off first.
 */
export async function copyMemory(from: string, to: string, signal: AbortSignal): Promise<MemoryCopy> {
  signal.throwIfAborted();
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL);
    return { filled: Promise.resolve() };
  } catch (error) {
    if (!NO_CLONE.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
  // A clone that was refused may have left an empty file.
  await writeFile(to, '', { mode: 0o600 });
  await truncate(to, (await stat(from)).size);
  const filled = run('qemu-img', ['convert', '-n', '--target-is-zero', ...RAW, from, to], signal);
  return { filled: filled.then(() => undefined) };
}

const RAW = ['-f', 'raw', '-O', 'raw'] as const;

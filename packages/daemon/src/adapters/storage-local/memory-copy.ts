import { constants, copyFile, open, stat } from 'node:fs/promises';
import { run } from '../../lib/run.ts';

// What `copyFile` fails with where files cannot share their blocks (ioctl_ficlone(2)).
const NO_CLONE = ['ENOTSUP', 'EOPNOTSUPP', 'EXDEV', 'EINVAL', 'ENOSYS', 'ENOTTY'];

/**
 * Copies a sparse file to a new one. Answers when that is there in its full size, so that it can be mapped; `filled` settles when the
 * content is in it too. Blocks are shared where the file system can; else qemu-img copies what is not a hole, and into a file that is
 * mapped already, which cp does not.
 */
export async function copySparse(
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<{ filled: Promise<void> }> {
  signal.throwIfAborted();
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL);
    return { filled: Promise.resolve() };
  } catch (error) {
    if (!NO_CLONE.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
  const { size } = await stat(from);
  {
    // A clone that was refused may have left an empty file.
    await using file = await open(to, 'w', 0o600);
    await file.truncate(size);
  }
  const args = ['convert', '-n', '--target-is-zero', '-f', 'raw', '-O', 'raw', from, to];
  const filled = run('qemu-img', args, signal).then(() => undefined);
  filled.catch(() => undefined); // Whoever awaits it learns of a failure.
  return { filled };
}

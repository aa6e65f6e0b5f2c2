import { spawn } from 'node:child_process';
import { stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { assertPiped } from '../../lib/pipes.ts';
import { CommandError } from '../../lib/run.ts';

const PROGRESS_MS = 2000;

/**
 * Copies an open file to a new one: by sharing its blocks where the file system can, else without its holes. `onProgress` hears
 * every other second how much has got room. Killed when the signal aborts; what is there then is the caller's to remove.
 */
export async function copySparse(
  source: FileHandle,
  to: string,
  onProgress: (doneBytes: number, totalBytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const total = (await source.stat()).blocks * 512;
  const args = ['--reflink=auto', '--sparse=always', '--', '/dev/stdin', to];
  const child = spawn('cp', args, {
    stdio: [source.fd, 'ignore', 'pipe'],
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
    signal,
    killSignal: 'SIGKILL',
  });
  assertPiped('cp', child);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('close', resolve);
    child.once('error', reject);
  });
  const timer = setInterval(() => {
    void stat(to).then(
      ({ blocks }) => onProgress(blocks * 512, total),
      () => undefined, // Not there yet.
    );
  }, PROGRESS_MS);
  try {
    const [code, complaint] = await Promise.all([ended, child.stderr === null ? '' : text(child.stderr)]);
    if (code !== 0) throw new CommandError('cp', complaint, undefined);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    clearInterval(timer);
  }
}

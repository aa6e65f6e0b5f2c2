import type { ChildProcess } from 'node:child_process';

/**
 * Checks that a process just spawned has the pipes that were asked for. Of one for which the daemon has no file descriptor left Node answers
 * none, whatever its types say, and its `error` event ends whoever does not listen. Throws then.
 */
export function assertPiped(file: string, child: ChildProcess): void {
  if ((child.stdout as unknown) !== undefined) return;
  child.on('error', () => undefined);
  throw new Error(`${file} cannot be started: no file descriptor is left`);
}

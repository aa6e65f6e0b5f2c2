import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

// Where Debian keeps mke2fs is not in everyone's PATH.
const ADMIN_PATH = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` };

/** Runs one of the host's programs and answers its output. */
export async function host(file: string, ...args: string[]): Promise<string> {
  return (await execute(file, args, { env: ADMIN_PATH })).stdout;
}

/** Makes an ext4 file of that size, such as `32M`, with a tree in it. */
export async function makeExt4(path: string, size: string, tree?: string): Promise<void> {
  await host('mke2fs', '-q', '-F', '-t', 'ext4', ...(tree === undefined ? [] : ['-d', tree]), path, size);
}

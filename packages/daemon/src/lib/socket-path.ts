import { open } from 'node:fs/promises';
import { basename, dirname } from 'node:path';

/**
 * Calls `use` with a short alias of a unix socket's path: `sun_path` holds 108 bytes (unix(7)), a directory that a user
 * chooses may be longer. The alias goes through an open descriptor of the directory and is good until `use` is done.
 */
export async function withShortPath<T>(path: string, use: (alias: string) => Promise<T>): Promise<T> {
  const dir = await open(dirname(path), 'r');
  try {
    return await use(`/proc/self/fd/${dir.fd}/${basename(path)}`);
  } finally {
    await dir.close();
  }
}

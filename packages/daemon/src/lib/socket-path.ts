import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
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

/** Connects to a unix socket, however long its path. Rejects, with nothing left open, when nobody listens or the signal aborts. */
export function connectUnix(path: string, signal: AbortSignal): Promise<Socket> {
  return withShortPath(path, async (alias) => {
    // Who uses it sees its errors. One that comes when nobody does any more, as when the other end is killed, must not end the daemon.
    const socket = connect(alias).on('error', () => undefined);
    try {
      await once(socket, 'connect', { signal });
      return socket;
    } catch (error) {
      socket.destroy();
      throw error;
    }
  });
}

import { createReadStream, createWriteStream } from 'node:fs';
import { access, rm } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { connectUnix, withShortPath } from '../../lib/socket-path.ts';

// QEMU may not run programs, and migrates to and from files only since version 8.2; sockets work with all of them.

/**
 * Writes what QEMU sends to a unix socket into a new file. `invite` makes QEMU connect to the socket, and settles when all is
 * sent.
 */
export async function receiveState(
  path: string,
  file: string,
  invite: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  await rm(path, { force: true });
  // All of it under the alias: a server that is closed removes its socket by the name it was given, and once the directory behind the
  // alias is closed that name may be another machine's.
  await withShortPath(path, async (alias) => {
    const server = createServer({ pauseOnConnect: true });
    try {
      server.listen(alias);
      await once(server, 'listening', { signal });
      // Beside each other: a refusal of QEMU's comes before any connection does.
      const received = once(server, 'connection', { signal }).then(([socket]) =>
        pipeline(socket as Socket, createWriteStream(file, { flags: 'wx', mode: 0o600 }), { signal }),
      );
      await Promise.all([received, invite()]);
    } finally {
      server.close();
    }
  });
}

/**
 * Sends a file to the unix socket that QEMU listens on, or to the one it was handed. `taken` settles when all is taken in, and alone tells whether it was: QEMU
 * may close the socket before this end has seen its own last write done, and takes a file that was cut off for a failure.
 */
export async function sendState(
  to: string | Duplex,
  file: string,
  taken: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  await access(file);
  const socket = typeof to === 'string' ? await connectUnix(to, signal) : to;
  pipeline(createReadStream(file), socket, { signal }).catch(() => undefined);
  await taken();
}

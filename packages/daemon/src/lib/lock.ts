import { connect, createServer } from 'node:net';
import type { Server } from 'node:net';
import { mkdir, rm } from 'node:fs/promises';
import { once } from 'node:events';
import { join } from 'node:path';
import { withShortPath } from './socket-path.ts';

/** A directory that only one process may use at a time. */
export class DirectoryLock implements AsyncDisposable {
  readonly #server: Server;
  readonly #path: string;

  private constructor(server: Server, path: string) {
    this.#server = server;
    this.#path = path;
  }

  /**
   * Takes the directory, made if missing, by listening on a socket in it: the kernel lets go when the process dies, whatever
   * killed it. Rejects with the holder's pid when another process has it.
   */
  static async acquire(dir: string): Promise<DirectoryLock> {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const path = join(dir, 'lock.sock');
    return withShortPath(path, async (short) => {
      const holder = await askHolder(short);
      if (holder !== undefined) throw new Error(`${dir} is in use by process ${holder}`);
      await rm(path, { force: true });
      const server = createServer((socket) => socket.on('error', () => undefined).end(String(process.pid)));
      server.listen(short);
      await once(server, 'listening');
      return new DirectoryLock(server, path);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
    await rm(this.#path, { force: true });
  }
}

/** The pid that a living holder answers with; undefined when nobody listens. */
async function askHolder(path: string): Promise<string | undefined> {
  const socket = connect(path);
  socket.setEncoding('utf8').setTimeout(1000, () => socket.destroy());
  let answer = '';
  try {
    for await (const chunk of socket) answer += chunk as string;
  } catch {
    return undefined;
  }
  return answer === '' ? 'unknown' : answer;
}

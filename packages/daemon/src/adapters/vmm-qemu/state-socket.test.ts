import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { withShortPath } from '../../lib/socket-path.ts';
import { receiveState, sendState } from './state-socket.ts';

const { signal } = new AbortController();

test('a state is received whole, and other machines keep their sockets', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'atoll-state-'));
  try {
    const [one, other] = [join(dir, 'one'), join(dir, 'other')];
    await mkdir(one);
    await mkdir(other);
    await writeFile(join(other, 'state.sock'), '');
    const { promise: opened, resolve: open } = Promise.withResolvers<undefined>();
    const { promise: over, resolve: end } = Promise.withResolvers<undefined>();
    const send = async () => {
      // Another machine's directory is opened before the state comes, and still is when all of that is done.
      void withShortPath(join(other, 'state.sock'), async () => {
        open(undefined);
        await over;
      });
      await opened;
      connect(join(one, 'state.sock')).end('a state');
    };
    await receiveState(join(one, 'state.sock'), join(one, 'state'), send, signal);
    expect(await readFile(join(one, 'state'), 'utf8')).toBe('a state');
    await expect(readFile(join(one, 'state.sock'))).rejects.toThrow('ENOENT');
    expect(await readFile(join(other, 'state.sock'), 'utf8')).toBe('');
    end(undefined);
  } finally {
    await rm(dir, { recursive: true });
  }
});

test('a machine that is killed once it was sent its state ends nobody but itself', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'atoll-state-'));
  try {
    await writeFile(join(dir, 'state'), 'a state');
    const server = createServer({ pauseOnConnect: true });
    const connected = once(server, 'connection') as Promise<[Socket]>;
    server.listen(join(dir, 'state.sock'));
    const taken = async () => {
      const [machine] = await connected;
      await setTimeout(50);
      // What is not read when an end is closed resets the connection.
      machine.destroy();
      await setTimeout(50);
    };
    await sendState(join(dir, 'state.sock'), join(dir, 'state'), taken, signal);
    server.close();
  } finally {
    await rm(dir, { recursive: true });
  }
});

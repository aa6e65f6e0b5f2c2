import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withShortPath } from '../../lib/socket-path.ts';
import { receiveState } from './state-socket.ts';

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

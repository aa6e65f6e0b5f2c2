import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { connectTo } from './connection.ts';

const HOST = '127.0.0.1';
const NEVER = new AbortController().signal;

/** A server's side of one connection, and the client's. */
async function pair() {
  const server = createServer({ allowHalfOpen: true }).listen(0, HOST);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const ours = await connectTo(HOST, port, NEVER);
  const [theirs] = await accepted;
  server.close();
  return { ours, theirs, port };
}

/** How a connection ends for who reads it. */
const endOf = (socket: Socket) =>
  text(socket).then(
    (bytes) => `${bytes} and the end`,
    (error: unknown) => (error as NodeJS.ErrnoException).code,
  );

it('resets what is destroyed before both sides have ended', async () => {
  for (const isIdle of [true, false]) {
    const { ours, theirs } = await pair();
    const end = endOf(theirs);
    if (!isIdle) ours.write('some');
    ours.destroy();
    expect(await end).toBe('ECONNRESET');
  }
});

it('resets what is destroyed with an error, and tells that', async () => {
  const { ours, theirs } = await pair();
  const end = endOf(theirs);
  const failed = once(ours, 'error');
  ours.destroy(new Error('enough'));
  await expect(failed).resolves.toMatchObject([{ message: 'enough' }]);
  expect(await end).toBe('ECONNRESET');
});

it('lets each side end on its own, and then is closed in order', async () => {
  const { ours, theirs } = await pair();
  const closed = once(ours, 'close');
  theirs.end('theirs');
  expect(await text(ours)).toBe('theirs');
  ours.end('ours');
  expect(await text(theirs)).toBe('ours');
  await closed;
});

it('is closed when it is destroyed while its end is under way', async () => {
  const { ours, theirs } = await pair();
  const closed = once(ours, 'close');
  ours.end('ours');
  ours.destroy();
  await closed;
  theirs.destroy();
});

it('rejects with what the system says, and with the reason of the signal', async () => {
  const { ours, theirs, port } = await pair();
  ours.destroy();
  theirs.destroy();
  await expect(connectTo(HOST, port, NEVER)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  await expect(connectTo(HOST, port, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
  const leaving = new AbortController();
  const connecting = connectTo(HOST, port, leaving.signal);
  leaving.abort(new Error('left'));
  await expect(connecting).rejects.toThrow('left');
});

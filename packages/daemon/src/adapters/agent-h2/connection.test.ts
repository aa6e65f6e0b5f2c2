import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer as createHttp2Server } from 'node:http2';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { connectUnix } from '../../lib/socket-path.ts';
import { AgentLost } from '../../ports/agent.ts';
import { Calls } from './calls.ts';
import { Connection } from './connection.ts';
import { openEpoch } from './hello.ts';

const { signal } = new AbortController();

/** A connection to an agent that does this with the socket when a call arrives. */
async function connectTo(onCall: (socket: Socket) => void) {
  const stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'atoll-connection-'));
  stack.defer(() => rm(dir, { recursive: true }));
  const path = join(dir, 'agent.sock');
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.once('data', (hello: Buffer) => {
      socket.write(Buffer.concat([Buffer.from('ATOLL-READY/1\r\n\0', 'latin1'), hello.subarray(16, 32)]));
      const agent = createHttp2Server();
      agent.on('sessionError', () => undefined);
      agent.on('stream', (stream) => {
        stream.on('error', () => undefined);
        onCall(socket);
      });
      // An agent says nothing until it has been spoken to.
      socket.once('data', (preface: Buffer) => {
        socket.pause();
        socket.unshift(preface);
        agent.emit('connection', socket);
      });
    });
  });
  server.listen(path);
  await once(server, 'listening');
  stack.defer(() => void server.close());
  const deadline = AbortSignal.timeout(5000);
  const connection = await Connection.open(
    await openEpoch(await connectUnix(path, deadline), deadline),
    deadline,
  );
  stack.defer(() => connection.close('the test is over'));
  return { connection, path, sockets, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

test.each<[string, (socket: Socket) => void]>([
  ['ends', (socket) => socket.end()],
  ['breaks off', (socket) => socket.destroy()],
])('a call whose connection %s before it is answered learns it', async (_, end) => {
  await using it = await connectTo(end);
  const call = it.connection.request({ ':path': '/exec' }, (stream) => stream.write('frame'), signal);
  await expect(call).rejects.toThrow(AgentLost);
});

test('a call whose connection is closed by its own side learns it', async () => {
  await using it = await connectTo(() => undefined);
  const call = it.connection.request({ ':path': '/exec' }, (stream) => stream.write('frame'), signal);
  const outcome = expect(call).rejects.toThrow('the sandbox was stopped');
  it.connection.close('the sandbox was stopped');
  await outcome;
});

test.each<[string, (ours: Socket, theirs: Socket | undefined) => void]>([
  ['this side broke off', (ours) => ours.destroy()],
  ['the machine ended', (_, theirs) => theirs?.end()],
  ['the machine broke off', (_, theirs) => theirs?.destroy()],
])('a first call over a line that %s is not left waiting', async (_, end) => {
  await using it = await connectTo((socket) => socket.destroy());
  const epoch = await openEpoch(await connectUnix(it.path, signal), signal);
  const calls = new Calls(it.path, epoch);
  end(epoch, it.sockets.at(-1));
  const call = calls.send({ ':path': '/exec' }, (stream) => stream.end(), AbortSignal.timeout(5000));
  await expect(call).rejects.toThrow(AgentLost);
  calls.close();
});

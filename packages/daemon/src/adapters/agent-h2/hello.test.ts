import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { connectUnix } from '../../lib/socket-path.ts';
import { awakenEpoch, openEpoch } from './hello.ts';

const READY = 'ATOLL-READY/1\r\n\0';
const ALIVE = 'ATOLL-ALIVE/1\r\n\0';
const FAULT = 'ATOLL-FAULT/1\r\n\0';
let dir = '';
let server: Server | undefined;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'atoll-hello-'));
});

afterEach(async () => {
  server?.close();
  await rm(dir, { recursive: true });
});

/** Listens as a guest would, below a path that no sun_path could hold. */
async function guest(answer: (socket: Socket, nonce: Buffer) => void): Promise<string> {
  const path = join(dir, 'agent.sock');
  server = createServer((socket) => {
    socket.once('data', (hello: Buffer) => {
      expect(hello.subarray(0, 16).toString('latin1')).toBe('ATOLL-HELLO/1\r\n\0');
      answer(socket, hello.subarray(16, 32));
    });
  });
  server.listen(path);
  await once(server, 'listening');
  return path;
}

async function open(path: string, ms: number): Promise<Socket> {
  const signal = AbortSignal.timeout(ms);
  return openEpoch(await connectUnix(path, signal), signal);
}

test('bytes of an earlier epoch are dropped, even when they look like an answer', async () => {
  const path = await guest((socket, nonce) => {
    socket.write('stale bytes');
    socket.write(`${READY}0123456789abcdef`);
    const answer = Buffer.concat([Buffer.from(READY, 'latin1'), nonce]);
    socket.write(answer.subarray(0, 20));
    setImmediate(() => socket.write(answer.subarray(20)));
  });
  const socket = await open(path, 5000);
  expect(socket.isPaused()).toBe(true);
  socket.destroy();
});

test('a machine that closes the connection is an error', async () => {
  const path = await guest((socket) => socket.end());
  await expect(open(path, 5000)).rejects.toThrow('closed the connection');
});

test('an agent that never answers is given up at the deadline', async () => {
  const path = await guest(() => undefined);
  await expect(open(path, 50)).rejects.toThrow('timeout');
});

/** A guest that says READY, and ALIVE to what comes then, but FAULT to what it is unable to. */
function sleeper(told: Buffer[], unable?: 'AWAKE' | 'NAMED'): Promise<string> {
  return guest((socket, nonce) => {
    socket.on('data', (frame: Buffer) => {
      told.push(frame);
      const answer = unable !== undefined && frame.includes(unable) ? FAULT : ALIVE;
      socket.write(`${ALIVE}0123456789abcdef`);
      socket.write(Buffer.concat([Buffer.from(answer, 'latin1'), nonce]));
    });
    socket.write(Buffer.concat([Buffer.from(READY, 'latin1'), nonce]));
  });
}

async function awaken(path: string, news?: object): Promise<Socket> {
  const signal = AbortSignal.timeout(5000);
  return awakenEpoch(await connectUnix(path, signal), news, signal);
}

test('a guest that was frozen is told the time, and bytes of its own, before it is asked anything', async () => {
  const awakes: Buffer[] = [];
  const before = Date.now();
  const path = await sleeper(awakes);
  for (const socket of [await awaken(path), await awaken(path)]) socket.destroy();
  const told = awakes.map((awake) => {
    expect(awake.length).toBe(72);
    expect(awake.subarray(0, 16).toString('latin1')).toBe('ATOLL-AWAKE/1\r\n\0');
    return { ms: Number(awake.readBigInt64BE(32) / 1_000_000n), seed: awake.toString('hex', 40) };
  });
  for (const { ms } of told) {
    expect(ms).toBeGreaterThanOrEqual(before);
    expect(ms).toBeLessThanOrEqual(Date.now());
  }
  expect(new Set(told.map(({ seed }) => seed)).size).toBe(told.length);
});

test('a guest that is to be another is told so once it is awake', async () => {
  const told: Buffer[] = [];
  const news = { hostname: 'übung', network: undefined };
  (await awaken(await sleeper(told), news)).destroy();
  const named = told.at(-1) ?? Buffer.alloc(0);
  expect(named.subarray(0, 16).toString('latin1')).toBe('ATOLL-NAMED/1\r\n\0');
  expect(named.readUInt32BE(32)).toBe(named.length - 36);
  expect(JSON.parse(named.toString('utf8', 36))).toEqual({ hostname: 'übung' });
  expect(told.slice(0, -1).every((frame) => frame.includes('ATOLL-AWAKE'))).toBe(true);
});

test.each<['AWAKE' | 'NAMED', string]>([
  ['AWAKE', 'could not take up the time'],
  ['NAMED', 'could not take up its identity'],
])('a guest that cannot do as %s says is no guest', async (unable, message) => {
  await expect(awaken(await sleeper([], unable), {})).rejects.toThrow(message);
});

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Deadline } from '../../lib/deadline.ts';
import { AgentLost, AgentOutdated, GuestError } from '../../ports/agent.ts';
import type { AgentSession } from '../../ports/agent.ts';
import { Random } from '../../testing/random.ts';
import { H2GuestAgent } from './agent.ts';
import { FrameReader } from './frames.ts';
import { Listing } from './wire.ts';

const ROUNDS = Number(process.env.ATOLL_FUZZ_ROUNDS ?? 150);
const CALL_MS = 5000;
const READY = Buffer.from('ATOLL-READY/1\r\n\0', 'latin1');

// RFC 9113: the frame of a kind, and an answer of `:status: 200` (RFC 7541, appendix A).
const SETTINGS = frameOf(4, 0, 0, Buffer.alloc(0));
const HEADERS = frameOf(1, 4, 1, Buffer.from([0x88]));

const random = Random.seeded();
let dir: string;
let stack: AsyncDisposableStack;
beforeEach(async () => {
  stack = new AsyncDisposableStack();
  dir = await mkdtemp(join(tmpdir(), 'atoll-hostile-'));
  stack.defer(() => rm(dir, { recursive: true }));
});
afterEach(() => stack.disposeAsync());

function frameOf(kind: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(kind, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Listens as a guest would: `greet` gets each connection and its nonce. */
async function guest(greet: (socket: Socket, nonce: Buffer) => void): Promise<string> {
  const path = join(dir, `${random.below(2 ** 32)}.sock`);
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined).once('close', () => open.delete(socket));
    socket.once('data', (hello: Buffer) => greet(socket, hello.subarray(16, 32)));
  });
  server.listen(path);
  await once(server, 'listening');
  stack.defer(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return path;
}

/** A guest that opens epochs and answers the first request of each with these bytes, some of them with the end of the connection. */
function answering(bytes: () => Buffer): Promise<string> {
  return guest((socket, nonce) => {
    socket.write(Buffer.concat([READY, nonce]));
    socket.once('data', () => {
      socket.write(Buffer.concat([SETTINGS, bytes()]));
      if (random.below(2) === 0) socket.end();
    });
  });
}

/** Does one thing with such an agent, and answers how that ended. Never waits longer than the deadline. */
async function outcome(path: string, act: (agent: AgentSession, signal: AbortSignal) => Promise<unknown>) {
  using deadline = Deadline.in(CALL_MS, 'the call');
  try {
    const line = await new H2GuestAgent().attach(path, deadline);
    const session = await line.open(deadline);
    try {
      await act(session, AbortSignal.any([deadline.signal, AbortSignal.timeout(200)]));
      return 'answered';
    } finally {
      session.close();
    }
  } catch (error) {
    return error;
  }
}

const CALLS: readonly [string, (agent: AgentSession, signal: AbortSignal) => Promise<unknown>][] = [
  ['health', (agent, signal) => agent.health(signal)],
  ['exec', (agent, signal) => agent.exec({ command: 'x', args: [], env: {} }, () => undefined, signal)],
  ['listDir', (agent, signal) => agent.listDir('/', signal)],
  ['readlink', (agent, signal) => agent.readlink('/', signal)],
  ['mkdir', (agent, signal) => agent.mkdir('/', false, signal)],
  [
    'readFile',
    async (agent, signal) => {
      const { body } = await agent.readFile('/', signal);
      for await (const _ of body);
    },
  ],
  [
    'start',
    async (agent, signal) => {
      const running = await agent.start({ command: 'x', args: [], env: {} }, signal);
      running.output.resume().on('error', () => undefined);
      signal.addEventListener('abort', () => running.output.destroy());
      await running.exited;
    },
  ],
  [
    'listen',
    (agent, signal) =>
      new Promise((resolve, reject) => {
        agent.listen(80, () => undefined, resolve, signal).catch(reject);
        signal.addEventListener('abort', resolve);
      }),
  ],
  ['quiesce', (agent, signal) => agent.quiesce(signal)],
];

/** Bytes that resemble an answer: whole frames of HTTP/2 with noise in them, or noise. */
function noise(): Buffer {
  const parts = Array.from({ length: 1 + random.below(6) }, () => {
    const payload = random.bytes(random.below(200));
    const exec = Buffer.concat([random.bytes(1), Buffer.from([0, 0, 0, random.below(40)]), payload]);
    return random.pick([
      () => HEADERS,
      () => frameOf(0, random.below(2), 1, random.pick([payload, exec, Buffer.from('{"entries":[{}]}')])),
      () => frameOf(random.below(12), random.below(256), random.below(4), payload),
      () => frameOf(9, random.below(2) * 4, 1, payload),
      () => payload,
    ])();
  });
  return Buffer.concat(parts);
}

describe('an agent that answers noise', () => {
  test.each(CALLS)(
    `%s ends in an error of the agent, ${ROUNDS} times`,
    { timeout: 300_000 },
    async (_, act) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const bytes = noise();
        const ended = await outcome(await answering(() => bytes), act);
        const isTold =
          ended === 'answered' ||
          ended instanceof AgentLost ||
          ended instanceof AgentOutdated ||
          ended instanceof GuestError ||
          // The caller's own, for an agent that goes on saying nothing of use.
          (ended instanceof DOMException && ended.name === 'TimeoutError') ||
          (ended instanceof Error && /epoch|closed the connection|spoke before/.test(ended.message));
        expect(isTold, `${random.said}: ${bytes.toString('base64')} ended in ${String(ended)}`).toBe(true);
        await stack.disposeAsync();
        stack = new AsyncDisposableStack();
        dir = await mkdtemp(join(tmpdir(), 'atoll-hostile-'));
        const made = dir;
        stack.defer(() => rm(made, { recursive: true }));
      }
    },
  );

  test('an epoch is opened by the right answer alone', async () => {
    for (let round = 0; round < 20; round += 1) {
      const path = await guest((socket, nonce) => {
        const wrong = Buffer.concat([READY, nonce]);
        const at = random.below(wrong.length);
        wrong.writeUInt8(wrong.readUInt8(at) ^ (1 + random.below(255)), at);
        socket.end(Buffer.concat([random.bytes(random.below(100)), wrong]));
      });
      expect(await outcome(path, (agent, signal) => agent.health(signal))).toBeInstanceOf(Error);
    }
  });
});

describe('frames', () => {
  test('are the same wherever noise is cut', () => {
    for (let round = 0; round < 500; round += 1) {
      const bytes = Buffer.concat([
        random.bytes(1),
        Buffer.from([0, 0, 0, random.below(30)]),
        random.bytes(60),
      ]);
      expect(read([...bytes].map((byte) => Buffer.from([byte])))).toEqual(read([bytes]));
    }
  });

  test('cost a copy of each byte, however small the pieces', () => {
    let seen = 0;
    const reader = new FrameReader((_, payload) => (seen += payload.length));
    reader.push(Buffer.from([1, 0, 2, 0, 0]));
    const before = process.cpuUsage().user;
    for (let at = 0; at < 128 * 1024; at += 1) reader.push(Buffer.from([at & 0xff]));
    expect(seen).toBe(128 * 1024);
    // Copying what is there with every piece takes 8 GB of copies.
    expect(process.cpuUsage().user - before).toBeLessThan(2_000_000);
  });

  function read(chunks: readonly Buffer[]): unknown[] {
    const frames: unknown[] = [];
    const reader = new FrameReader((type, payload) => frames.push([type, payload.toString('hex')]));
    try {
      for (const chunk of chunks) reader.push(chunk);
    } catch (error) {
      frames.push(String(error));
    }
    return frames;
  }
});

describe('a listing', () => {
  const entry = { type: 'file', is_dir: false, is_symlink: false, size: 1, mode: 0o644, mtime_unix: 0 };
  test.each(['', '.', '..', '../x', '/etc/passwd', 'a/b', 'a\0b', 'x'.repeat(256)])(
    'has no entry %j',
    (name) => {
      expect(Listing.safeParse({ entries: [{ ...entry, name: 'ok' }] }).success).toBe(true);
      expect(() => Listing.parse({ entries: [{ ...entry, name }] })).toThrow();
    },
  );

  test('of a million faults is refused at the first', () => {
    const before = process.memoryUsage().heapUsed;
    expect(() => Listing.parse({ entries: new Array(1_000_000).fill(1) })).toThrow();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(200 * 1024 * 1024);
  });
});

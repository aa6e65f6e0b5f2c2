import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import Fastify from 'fastify';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseBodies, streamBodies } from './bodies.ts';
import { answerErrors } from './errors.ts';
import { connectionLimits, limitRequests } from './limits.ts';
import { answerMalformed } from './malformed.ts';

const LIMITS = { maxConnections: 100, maxConcurrentRequests: 2, requestTimeoutMs: 300 };

let stack: AsyncDisposableStack;
beforeEach(() => {
  stack = new AsyncDisposableStack();
});
afterEach(() => stack.disposeAsync());

/** A server with the limits, a route that answers when it is let, one that takes JSON, and one that streams. */
async function listen(limits = LIMITS) {
  const app = Fastify({
    http: connectionLimits(LIMITS),
    clientErrorHandler: answerMalformed(LIMITS.requestTimeoutMs),
    forceCloseConnections: true,
  });
  stack.defer(() => app.close());
  const gate = Promise.withResolvers<string>();
  parseBodies(app);
  answerErrors(app, 1024);
  limitRequests(app, limits);
  const waiting: string[] = [];
  for (const method of ['GET', 'POST'] as const)
    app.route({
      method,
      url: '/wait',
      handler: ({ id }) => {
        waiting.push(id);
        return gate.promise;
      },
    });
  app.get('/healthz', () => 'ok');
  app.post('/json', ({ body }) => ({ body }));
  await app.register((streaming, _options, done) => {
    streamBodies(streaming);
    streaming.put('/stream', async ({ body }) => {
      let bytes = 0;
      for await (const chunk of body as AsyncIterable<Buffer>) bytes += chunk.length;
      return { bytes };
    });
    done();
  });
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const isWaiting = (count: number) => expect.poll(() => waiting).toHaveLength(count);
  return { url, gate, isWaiting, port: (app.server.address() as AddressInfo).port };
}

/** A connection on which these bytes were sent. */
function send(port: number, ...lines: string[]) {
  const socket = connect(port, '127.0.0.1');
  stack.defer(() => void socket.destroy());
  socket.write(lines.join('\r\n'));
  return socket;
}

/** What comes back until the connection is closed, however that is. */
async function answerOn(socket: ReturnType<typeof send>): Promise<string> {
  let text = '';
  socket.on('data', (chunk) => (text += String(chunk))).on('error', () => undefined);
  await new Promise((over) => socket.once('close', over));
  return text;
}

test('requests beyond their number are refused with Retry-After, until one is over', async () => {
  const { url, gate, isWaiting } = await listen();
  const held = [fetch(`${url}/wait`), fetch(`${url}/wait`)];
  await isWaiting(2);
  const refused = await fetch(`${url}/wait`);
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(await refused.json()).toMatchObject({ code: 'TOO_MANY_REQUESTS' });
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  gate.resolve('over');
  for (const each of held) expect((await each).status).toBe(200);
  await expect.poll(async () => (await fetch(`${url}/wait`)).status).toBe(200);
});

test('a request whose client went away is over', async () => {
  const { url, gate, isWaiting } = await listen();
  const gone = new AbortController();
  const held = [1, 2].map(() => fetch(`${url}/wait`, { signal: gone.signal }).catch(() => undefined));
  await isWaiting(2);
  gone.abort();
  await Promise.all(held);
  gate.resolve('over');
  await expect.poll(async () => (await fetch(`${url}/wait`)).status).toBe(200);
});

test('a head that does not end, or never begins, is given up with 408', async () => {
  const { port } = await listen();
  const [slow, silent] = [send(port, 'GET /healthz HTTP/1.1', 'Host: x', 'X-'), send(port)];
  for (const answer of await Promise.all([answerOn(slow), answerOn(silent)])) {
    expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
    expect(answer).toContain('"code":"REQUEST_TIMEOUT"');
  }
});

test('a JSON body that does not come on is given up with 408', async () => {
  const { port } = await listen();
  const socket = send(port, 'POST /json HTTP/1.1', 'Host: x', 'Content-Length: 100', '', '{"a":');
  const drip = setInterval(() => socket.writable && socket.write(' '), 50);
  stack.defer(() => clearInterval(drip));
  expect(await answerOn(socket)).toContain('"code":"REQUEST_TIMEOUT"');
});

test.each([undefined, '{}'])(
  'a request that has come, with the body %s, may wait for its answer',
  async (body) => {
    const { url, gate } = await listen();
    const answer = fetch(`${url}/wait`, { method: 'POST', ...(body !== undefined && { body }) });
    await sleep(3 * LIMITS.requestTimeoutMs);
    gate.resolve('over');
    expect((await answer).status).toBe(200);
  },
);

test('a body that a route streams may pause', async () => {
  const { port } = await listen();
  const head = ['PUT /stream HTTP/1.1', 'Host: x', 'Connection: close', 'Content-Length: 2', '', 'a'];
  const socket = send(port, ...head);
  await sleep(3 * LIMITS.requestTimeoutMs);
  socket.write('b');
  expect(await answerOn(socket)).toContain('{"bytes":2}');
});

test('connections beyond their number are closed', async () => {
  const { port, url } = await listen({ ...LIMITS, maxConnections: 4 });
  const held = Array.from({ length: 4 }, () => send(port, 'GET /wait HTTP/1.1', 'Host: x', ''));
  await Promise.all(held.map((socket) => once(socket, 'connect')));
  await expect(fetch(`${url}/healthz`)).rejects.toThrow('fetch failed');
});

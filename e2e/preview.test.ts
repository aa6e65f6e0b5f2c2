import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer } from './guests/server.ts';
import type { Client } from './harness/client.ts';
import { Daemon } from './harness/daemon.ts';
import { expectFailure } from './harness/failure.ts';
import { openFds } from './harness/host.ts';
import { timed, until, within } from './harness/poll.ts';
import { sendRaw } from './harness/raw.ts';
import { createSandbox } from './harness/sandbox.ts';
import type { Sandbox } from './harness/sandbox.ts';
import { Socket } from './harness/socket.ts';

const MIB = 1024 * 1024;
const SOON_MS = 30_000;
// Far more than an answer takes when 200 are asked for at once.
// As it is by default. 200 requests at once take an emulated server half of it on a host that has more to do.
const TIMEOUT_SECS = 30;

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let client: Client;
let sandbox: Sandbox;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start({ SERVICE_PREVIEW_TIMEOUT_SECS: String(TIMEOUT_SECS) }));
  ({ client } = daemon);
  sandbox = await createSandbox(client, { name: 'web' });
  await Promise.all([
    startServer(client, sandbox, 8001),
    startServer(client, sandbox, 8002, '0.0.0.0'),
    startServer(client, sandbox, 8003, '::1'),
  ]);
});

afterAll(() => stack.disposeAsync());

const at = (path: string, port = 8001) => `/sandboxes/${sandbox.id}/preview/${port}${path}`;

interface View {
  readonly method: string;
  readonly path: string;
  readonly headers: [name: string, value: string][];
  readonly size: number;
  readonly md5: string;
}

/** What the server sees of a request. */
async function view(
  path: string,
  method = 'GET',
  body?: Uint8Array<ArrayBuffer>,
  headers = {},
): Promise<View> {
  const answer = await client.call(method, path, body, { headers });
  expect(answer.status, answer.text).toBe(200);
  return answer.json as View;
}

const named = (seen: View, name: string) =>
  seen.headers.filter(([each]) => each.toLowerCase() === name).map(([, value]) => value);

/** A request by hand, for what fetch does not let one send or see. */
async function send(path: string, options: object, body?: string | Buffer): Promise<IncomingMessage> {
  const call = request(daemon.url + path, options);
  call.on('error', () => undefined);
  const answered = once(call, 'response') as Promise<[IncomingMessage]>;
  call.end(body);
  return (await within(`${path} is answered`, answered, SOON_MS))[0];
}

describe('a preview', () => {
  it.each([8001, 8002, 8003])('reaches the server on port %i, whichever address it has', async (port) => {
    expect((await view(at('/a', port))).path).toBe('/a');
  });

  it.each([
    ['', '/'],
    ['/', '/'],
    ['?a=1', '/?a=1'],
    ['/a/b', '/a/b'],
    ['/a/', '/a/'],
    ['/a%2Fb%20c?x=%41&x=&y', '/a%2Fb%20c?x=%41&x=&y'],
    [`/${'long/'.repeat(500)}`, `/${'long/'.repeat(500)}`],
    ['/a?token=t', '/a'],
    ['/a?x=1&token=t&y=2', '/a?x=1&y=2'],
  ])('at %j asks for %j', async (path, expected) => {
    expect((await view(at(path))).path).toBe(expected);
    expect((await view(at(path).replace(sandbox.id, 'web'))).path).toBe(expected);
  });

  it.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'REPORT'])(
    'passes %s on, with its body',
    async (method) => {
      const body = method === 'GET' ? undefined : 'some text';
      const headers = body === undefined ? {} : { 'content-length': body.length };
      const answer = await send(at('/x'), { method, headers }, body);
      expect(JSON.parse(await text(answer))).toMatchObject({ method, size: body?.length ?? 0 });
    },
  );

  /** Which of its connections the server was asked by. */
  const peer = async (path: string, method = 'GET', body?: string) => {
    const answer = await client.call(method, at(path), body);
    expect(answer.status, answer.text).toBe(200);
    return answer.text;
  };

  it('keeps a connection for the next request, and gives one with a body its own', async () => {
    const first = await peer('/peer');
    expect(await peer('/peer')).toBe(first);
    const other = await peer('/peer', 'POST', 'text');
    expect(other).not.toBe(first);
    expect(await peer('/peer', 'POST', 'text')).not.toBe(other);
  });

  it('asks again where the server has ended a kept connection', async () => {
    for (let time = 0; time < 10; time += 1) {
      const closed = await peer('/peer?then=close');
      expect(await peer('/peer')).not.toBe(closed);
    }
  });

  it('shows the server who asked, and nothing that is not for it', async () => {
    const headers = {
      authorization: 'Bearer something',
      'x-mine': 'kept',
      te: 'trailers',
      'keep-alive': 'timeout=1',
      connection: 'keep-alive, x-private',
      'x-private': 'gone',
      'x-forwarded-for': '192.0.2.1',
      cookie: 'a=1; b=2',
      'proxy-authorization': 'Basic x',
    };
    const seen = JSON.parse(await text(await send(at('/h'), { headers }))) as View;
    for (const name of ['authorization', 'te', 'keep-alive', 'x-private', 'proxy-authorization'])
      expect(named(seen, name), name).toEqual([]);
    expect(named(seen, 'x-mine')).toEqual(['kept']);
    expect(named(seen, 'cookie')).toEqual(['a=1; b=2']);
    expect(named(seen, 'host')).toEqual(['127.0.0.1:8001']);
    expect(named(seen, 'x-forwarded-for')).toEqual(['192.0.2.1, 127.0.0.1']);
    expect(named(seen, 'x-forwarded-host')).toEqual([new URL(daemon.url).host]);
    expect(named(seen, 'x-forwarded-proto')).toEqual(['http']);
    expect(named(seen, 'x-forwarded-prefix')).toEqual([`/sandboxes/${sandbox.id}/preview/8001`]);
    const answer = await client.call('GET', at('/h'));
    expect(answer.headers.get('x-end')).toBe('for the client');
    for (const name of ['x-hop', 'service-worker-allowed']) expect(answer.headers.get(name)).toBeNull();
  });

  it('keeps status, chunks, HEAD, 204 and 304 as they are', async () => {
    expect((await client.call('GET', at('/chunked'))).text).toBe('one two three');
    const head = await send(at('/h'), { method: 'HEAD' });
    expect(Number(head.headers['content-length'])).toBeGreaterThan(10);
    expect(await text(head)).toBe('');
    expect((await client.call('GET', at('/nothing'))).status).toBe(204);
    const unchanged = await client.call('GET', at('/unchanged'));
    expect([unchanged.status, unchanged.headers.get('etag'), unchanged.text]).toEqual([304, '"a"', '']);
    const chunked = await send(
      at('/u'),
      { method: 'DELETE', headers: { 'transfer-encoding': 'chunked' } },
      'abc',
    );
    expect(JSON.parse(await text(chunked))).toMatchObject({ size: 3 });
  });

  it('leaves it to the server to say 100 Continue', async () => {
    const { port } = new URL(daemon.url);
    const socket = connect(Number(port), '127.0.0.1');
    let seen = '';
    socket.on('data', (chunk: Buffer) => (seen += chunk.toString('latin1')));
    socket.write(
      `POST ${at('/u')} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n`,
    );
    await until('100 comes', () => seen.includes('HTTP/1.1 100 Continue\r\n\r\n'), SOON_MS);
    expect(await sandbox.sh('test -e /tmp/expected && echo by the server')).toBe('by the server');
    socket.write('12345');
    await once(socket, 'close');
    expect(seen).toContain('"size": 5');
    expect(
      await sendRaw(
        daemon.url,
        `POST ${at('/u', 9)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n`,
      ),
    ).toMatch(/^HTTP\/1.1 502/);
  });

  it('brings events one by one', async () => {
    const answer = await client.open('GET', at('/events'));
    const times: number[] = [];
    for await (const _chunk of answer.body ?? []) times.push(performance.now());
    expect(times.length).toBe(5);
    expect((times[4] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(1200);
  });

  it('tells the server when its client leaves, and the client when the server refuses early', async () => {
    const leaving = new AbortController();
    const answer = await client.open('GET', at('/endless'), undefined, { signal: leaving.signal });
    await answer.body?.getReader().read();
    leaving.abort();
    await until(
      'the server notices',
      async () => (await sandbox.exec('test', ['-e', '/tmp/client-left'])).exit_code === 0,
      SOON_MS,
    );
    const refused = await send(at('/refuse'), { method: 'POST' }, Buffer.alloc(20 * MIB));
    expect([refused.statusCode, await text(refused)]).toEqual([413, 'too much']);
  });

  it('of nothing is 502, of what is no HTTP too, and of one that never answers 504 in time', async () => {
    expectFailure(await client.call('GET', at('/', 9)), 502, 'NOTHING_LISTENING', 'port 9', sandbox.id);
    expectFailure(await client.call('GET', at('/garbage')), 502, 'PREVIEW_BROKEN');
    const { value, ms } = await timed(client.call('GET', at('/never')));
    expectFailure(value, 504, 'PREVIEW_TIMEOUT', 'SERVICE_PREVIEW_TIMEOUT_SECS');
    expect(ms).toBeGreaterThan(TIMEOUT_SECS * 1000 - 50);
    expect(ms).toBeLessThan(TIMEOUT_SECS * 1000 + 2000);
    for (const port of ['0', '65536', 'x', '-1', '1e3'])
      expectFailure(await client.call('GET', at('/').replace('8001', port)), 400, 'INVALID_REQUEST', 'port');
    expectFailure(await client.call('GET', '/sandboxes/none/preview/1'), 404, 'NOT_FOUND');
  });

  it('of 200 requests at once keeps them apart, and leaves nothing open', async () => {
    await client.call('GET', at('/warm'));
    const before = await openFds(daemon.pid);
    const numbers = Array.from({ length: 200 }, (_, number) => number);
    const seen = await Promise.all(
      numbers.map((number) => view(at(`/n${number}`), 'POST', new Uint8Array(number * 100))),
    );
    expect(seen.map(({ path, size }) => [path, size])).toEqual(
      numbers.map((number) => [`/n${number}`, number * 100]),
    );
    const isClosed = async () =>
      (await client.call('GET', '/metrics')).text.includes('streams_open{kind="preview"} 0');
    await until('all are closed', isClosed, SOON_MS);
    // The client keeps connections alive; the daemon's own are to go.
    expect(await openFds(daemon.pid)).toBeLessThanOrEqual(before + 210);
  });

  it('carries WebSockets, with messages of every size', async () => {
    using socket = await Socket.open(daemon.url, at('/socket?token=of-the-server'));
    const messages = [1, 125, 126, 65_535, 65_536, 300_000].map((size) => randomBytes(size));
    for (const message of messages) socket.ws.send(message);
    await until('all come back', () => socket.chunks.length === messages.length, SOON_MS);
    expect(socket.bytes.equals(Buffer.concat(messages))).toBe(true);
    socket.ws.close(4000, 'enough');
    expect(await within('it closes', socket.closed, SOON_MS)).toEqual({ code: 4000, reason: 'enough' });
  });
});

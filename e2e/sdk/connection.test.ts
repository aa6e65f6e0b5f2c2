import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request as forward } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { failureOf, timed } from '../harness/poll.ts';
import { Lab, SIZE, TOKEN, sh, thrown } from './lab.ts';
import { packedSdk } from './packed.ts';

const stack = new AsyncDisposableStack();
let lab: Lab;

beforeAll(async () => {
  lab = stack.use(await Lab.start());
});
afterAll(() => stack.disposeAsync());

/** An address where nothing listens any more. */
async function unused(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}`;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Serves HTTP on a port of its own; answers its address. */
async function serve(handle: Handler): Promise<string> {
  const server = createServer(handle).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const passOn: Handler = (request, response) => {
  const { method, url, headers } = request;
  const onward = forward(lab.daemon.url + (url ?? ''), { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 0, answer.headers);
    answer.pipe(response);
  });
  request.pipe(onward);
};

/** A way to the daemon on which the first requests fail. */
async function failing(times: number, fail: Handler): Promise<{ url: string; count: () => number }> {
  let count = 0;
  const url = await serve((request, response) => {
    count += 1;
    if (count <= times) fail(request, response);
    else passOn(request, response);
  });
  return { url, count: () => count };
}

const cutOff: Handler = (request) => request.socket.destroy();

it('nothing listening names the url', async () => {
  const { Sandbox, ConnectionError, UnexpectedAnswerError } = lab.sdk;
  const url = await unused();
  const error = await thrown(Sandbox.list({ url }));
  expect(error).toBeInstanceOf(ConnectionError);
  expect(error).toMatchObject({ url, message: `cannot reach the Atoll daemon at ${url} (ECONNREFUSED)` });
  const other = await serve((_request, response) => response.end('<html>a web site</html>'));
  const elsewhere = await thrown(Sandbox.list({ url: other }));
  expect(elsewhere).toBeInstanceOf(UnexpectedAnswerError);
  expect(elsewhere.message).toContain(`is ${other} the right address?`);
  expect((await thrown(Promise.resolve().then(() => Sandbox.list({ url: 'daemon:7777' })))).message).toBe(
    'url takes an address such as http://127.0.0.1:7777, not "daemon:7777"',
  );
});

it('a timeout ends a call', async () => {
  const { Sandbox, TimeoutError } = lab.sdk;
  const url = await serve(() => undefined);
  const { value: error } = await timed(thrown(Sandbox.list({ url, timeoutMs: 200 })));
  expect(error).toBeInstanceOf(TimeoutError);
  expect(error).toMatchObject({ timeoutMs: 200, message: 'GET /sandboxes: no answer within 200 ms' });
});

it('an abort ends a call', async () => {
  const { Sandbox } = lab.sdk;
  const reason = new Error('changed my mind');
  let began = () => undefined as unknown;
  const arrived = new Promise((resolve) => (began = () => resolve(undefined)));
  const url = await serve(() => began());
  const controller = new AbortController();
  const call = failureOf(Sandbox.create({}, { url, signal: controller.signal }));
  await arrived;
  controller.abort(reason);
  expect(await call).toBe(reason);
  expect(await failureOf(Sandbox.list({ url, signal: AbortSignal.abort(reason) }))).toBe(reason);
});

it('the environment gives url and token', async () => {
  const script = `
    import { Sandbox } from '@atoll/sdk';
    await using sandbox = await Sandbox.create(${JSON.stringify(SIZE)});
    console.log((await sandbox.exec('echo', ['from the environment'])).stdout.trim());`;
  const env = { PATH: process.env['PATH'], ATOLL_URL: `${lab.daemon.url}/`, ATOLL_TOKEN: TOKEN };
  const args = ['--input-type=module', '--eval', script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: await packedSdk(), env });
  expect(stdout).toBe('from the environment\n');
});

it('a harmless call is tried again', async () => {
  const { Sandbox, ConnectionError, NotFoundError, UnavailableError } = lab.sdk;
  const flaky = await failing(2, cutOff);
  expect(await Sandbox.list({ url: flaky.url, token: TOKEN })).toEqual([]);
  expect(flaky.count()).toBe(3);
  const full = await failing(1, (_request, response) =>
    response.writeHead(503).end('{"error": "the daemon is shutting down", "code": "SHUTTING_DOWN"}'),
  );
  expect(await thrown(Sandbox.get('nobody', { url: full.url, token: TOKEN }))).toBeInstanceOf(NotFoundError);
  const down = await failing(9, cutOff);
  expect(await thrown(Sandbox.list({ url: down.url, token: TOKEN }))).toBeInstanceOf(ConnectionError);
  expect(down.count()).toBe(3);
  const busy = await failing(9, (_request, response) =>
    response.writeHead(503).end('{"error": "no room", "code": "INSUFFICIENT_MEMORY"}'),
  );
  expect(await thrown(Sandbox.create({}, { url: busy.url, token: TOKEN }))).toBeInstanceOf(UnavailableError);
  expect(busy.count()).toBe(1);
});

it('a create is never sent twice', async () => {
  const { Sandbox, Drive, ConnectionError } = lab.sdk;
  const flaky = await failing(9, cutOff);
  const connect = { url: flaky.url, token: TOKEN };
  expect(await thrown(Sandbox.create(SIZE, connect))).toBeInstanceOf(ConnectionError);
  expect(flaky.count()).toBe(1);
  // A removal that may have arrived is not repeated either.
  expect(await thrown(Drive.delete('some', connect))).toBeInstanceOf(ConnectionError);
  expect(flaky.count()).toBe(2);
});

it('health and metrics answer without a token', async () => {
  const { health, metrics, openapi, UnauthorizedError } = lab.sdk;
  const connect = { url: lab.daemon.url, token: '' };
  await health(connect);
  expect(await metrics(connect)).toContain('create_phase_duration_ms');
  expect(await thrown(openapi(connect))).toBeInstanceOf(UnauthorizedError);
  expect(await openapi({ client: lab.client })).toHaveProperty('paths');
});

it('the daemon gone mid stream is one clear error', async () => {
  const { ConnectionError } = lab.sdk;
  const { url } = lab.daemon;
  const sandbox = await lab.create();
  const process = await sandbox.spawn('sh', ['-c', 'echo begun; sleep 600']);
  const output = process.output[Symbol.asyncIterator]();
  expect(Buffer.from(((await output.next()).value ?? new Uint8Array()) as Uint8Array).toString()).toBe(
    'begun\n',
  );
  const terminal = await sandbox.pty();
  await sandbox.files.write('/tmp/long', '');
  await sandbox.files.truncate('/tmp/long', 2 ** 33);
  const pending = [
    output.next(),
    terminal.wait(),
    sandbox.exec('sleep', ['600']),
    sandbox.files.write('/tmp/endless', endless()),
    readAll(sandbox.files.readStream('/tmp/long')),
  ].map(thrown);
  await sh(sandbox, 'until pgrep -fx "sleep 600" >/dev/null; do sleep 0.1; done');
  // The last test of the file: there is no daemon after it.
  await lab.daemon.kill();
  for (const error of await Promise.all(pending)) {
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.message).toMatch(/^(lost the connection to|cannot reach) the Atoll daemon at /);
    expect(error.message).toContain(url);
    expect(error.message).not.toContain('\n');
  }
});

async function* endless(): AsyncGenerator<Uint8Array, never> {
  for (;;) {
    yield new Uint8Array(1024);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function readAll(stream: Promise<ReadableStream<Uint8Array>>): Promise<void> {
  for await (const _ of await stream) await new Promise((resolve) => setTimeout(resolve, 20));
}

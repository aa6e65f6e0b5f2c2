import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { RequestScope } from '../lib/request-context.ts';
import { fakeService } from '../testing/fake-service.ts';
import { buildApp } from './app.ts';

const SIZES = { vcpuCount: 2, maxVcpuCount: 16, memSizeMib: 128, maxMemSizeMib: 256 };
let stack: AsyncDisposableStack;

beforeEach(() => {
  stack = new AsyncDisposableStack();
});
afterEach(() => stack.disposeAsync());

async function start({ authToken }: { authToken?: string } = {}) {
  const { services } = stack.use(await fakeService({ sizes: SIZES }));
  const log = pino({ level: 'silent' });
  const options = {
    authToken,
    maxBodyBytes: 1024,
    maxConnections: 100,
    maxConcurrentRequests: 100,
    requestTimeoutMs: 30_000,
    previewTimeoutMs: 1000,
    log,
    scope: new RequestScope(),
    version: '0',
  };
  const app = await buildApp(services, options);
  stack.defer(() => app.close());
  return app;
}

type App = Awaited<ReturnType<typeof start>>;

async function post(app: App, url: string, payload?: unknown) {
  const body = typeof payload === 'string' ? payload : JSON.stringify(payload);
  return app.inject({ method: 'POST', url, ...(payload !== undefined && { body }) });
}

test.each<[string, unknown, string]>([
  ['an empty name', { name: '' }, 'name: takes 1 to 64 characters of A-Z a-z 0-9 _ -'],
  ['a long name', { name: 'a'.repeat(65) }, 'name: takes 1 to 64 characters of A-Z a-z 0-9 _ -'],
  [
    'a name that is an id',
    { name: '0b9c4d2e-8b1f-4c7e-9d52-3f8a1c6e7d10' },
    'name: takes a name that is not a UUID: a name stands wherever an id does',
  ],
  ['no processor', { vcpu_count: 0 }, 'vcpu_count: takes more than 0'],
  ['a processor too many', { vcpu_count: 17 }, 'vcpu_count: takes 1 to 16, got 17'],
  ['half a processor', { vcpu_count: 1.5 }, 'vcpu_count: takes an integer'],
  ['a processor in words', { vcpu_count: '2' }, 'vcpu_count: takes a number'],
  ['a tag that is no string', { tags: { a: 1 } }, 'tags.a: takes a string'],
  [
    'a variable with an equals sign',
    { env: { 'A=B': 'c' } },
    'env.A=B: takes names that are not empty and hold neither "=" nor NUL',
  ],
  ['an unknown field', { nmae: 'x' }, 'nmae: is not a field of this request'],
  ['an array', [], 'body: takes an object'],
  ['null', null, 'body: takes an object'],
  ['no JSON', '{"name"', 'body: takes JSON'],
  ['a prototype', '{"__proto__": {}}', 'body: takes an object without the keys __proto__'],
])('%s is a 400 that says so', async (_what, body, message) => {
  const app = await start();
  const response = await post(app, '/sandboxes', body);
  expect(response.statusCode).toBe(400);
  expect(response.json()).toEqual({
    error: expect.stringContaining(message) as string,
    code: 'INVALID_REQUEST',
  });
  expect((await app.inject('/sandboxes')).json()).toEqual({ sandboxes: [] });
});

test('null equals absent, and so does no body at all', async () => {
  const app = await start();
  expect((await post(app, '/sandboxes', { name: null, tags: null, vcpu_count: null })).statusCode).toBe(200);
  expect((await post(app, '/sandboxes')).statusCode).toBe(200);
});

test('a body over the limit is 413, an unknown route 404, a known one with another method 405', async () => {
  const app = await start();
  const large = await post(app, '/sandboxes', { tags: { a: 'x'.repeat(2000) } });
  expect([large.statusCode, large.json<{ code: string }>().code]).toEqual([413, 'BODY_TOO_LARGE']);
  expect((await app.inject('/nowhere')).statusCode).toBe(404);
  const wrong = await app.inject({ method: 'PATCH', url: '/sandboxes/x' });
  expect(wrong.statusCode).toBe(405);
  expect(wrong.headers.allow?.split(', ').toSorted()).toEqual(['DELETE', 'GET', 'HEAD']);
});

test('a token is asked for everywhere but at health and metrics', async () => {
  const app = await start({ authToken: 'right' });
  const status = async (url: string, authorization?: string) =>
    (await app.inject({ url, headers: authorization === undefined ? {} : { authorization } })).statusCode;
  expect(await status('/healthz')).toBe(200);
  expect(await status('/metrics')).toBe(200);
  expect(await status('/sandboxes')).toBe(401);
  expect(await status('/nowhere')).toBe(401);
  expect(await status('/sandboxes', 'Bearer wrong')).toBe(401);
  expect(await status('/sandboxes', 'Basic right')).toBe(401);
  expect(await status('/sandboxes', 'Bearer right')).toBe(200);
  expect((await app.inject('/sandboxes')).headers['www-authenticate']).toBe('Bearer');
});

test('a page of another site is kept out where there is no token', async () => {
  const app = await start();
  const headers = { 'sec-fetch-site': 'cross-site' };
  expect((await app.inject({ method: 'POST', url: '/sandboxes', headers })).statusCode).toBe(403);
  expect((await app.inject({ url: '/sandboxes', headers })).statusCode).toBe(200);
});

test.each([
  ['mine', 'mine'],
  ['x'.repeat(128), 'x'.repeat(128)],
])('a request id is echoed', async (given, expected) => {
  const app = await start();
  const response = await app.inject({ url: '/nowhere', headers: { 'x-request-id': given } });
  expect(response.headers['x-request-id']).toBe(expected);
});

test.each(['', 'x'.repeat(129), 'naïve'])(
  'a request id that cannot be echoed is replaced: %j',
  async (given) => {
    const app = await start();
    const response = await app.inject({ url: '/healthz', headers: { 'x-request-id': given } });
    expect(response.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  },
);

test('a file goes in and comes out, and a refusal has the name of its errno', async () => {
  const app = await start();
  const { id } = (await post(app, '/sandboxes', { name: 'web' })).json<{ id: string }>();
  const content = Buffer.from('some bytes').toString('base64');
  const write = await post(app, '/sandboxes/web/write-file', { path: '/tmp/a', content_base64: content });
  expect([write.statusCode, write.body]).toEqual([204, '']);
  expect((await post(app, `/sandboxes/${id}/read-file`, { path: '/tmp/a' })).json()).toEqual({
    content_base64: content,
  });
  expect((await app.inject(`/sandboxes/web/files?path=/tmp/a`)).body).toBe('some bytes');
  const missing = await post(app, '/sandboxes/web/read-file', { path: '/none' });
  expect(missing.statusCode).toBe(400);
  expect(missing.json()).toEqual({ code: 'ENOENT', error: 'open /none: no such file or directory' });
  const bad = await post(app, '/sandboxes/web/write-file', { path: '/tmp/a', content_base64: '***' });
  expect(bad.json()).toEqual({ code: 'INVALID_REQUEST', error: 'content_base64: takes base64' });
});

test('the body limit is for JSON: raw bytes may be larger', async () => {
  const app = await start();
  await post(app, '/sandboxes', { name: 'web' });
  const payload = Buffer.alloc(4096, 'x');
  const put = await app.inject({ method: 'PUT', url: '/sandboxes/web/files?path=/tmp/big', payload });
  expect(put.statusCode).toBe(204);
  expect((await app.inject('/sandboxes/web/files?path=/tmp/big')).rawPayload).toEqual(payload);
});

test('a result says what was cut off and what was no text', async () => {
  const app = await start();
  await post(app, '/sandboxes', { name: 'web' });
  const run = async (body: object) =>
    (await post(app, '/sandboxes/web/exec', body)).json<Record<string, unknown>>();
  expect(await run({ command: 'echo', args: ['hi'] })).toEqual({ stdout: 'hi\n', stderr: '', exit_code: 0 });
  expect(await run({ command: 'none' })).toMatchObject({
    exit_code: 127,
    stderr: 'none: command not found\n',
  });
  const binary = Buffer.from([0xff, 0xfe]).toString('base64');
  expect(await run({ command: 'cat', stdin_base64: binary })).toMatchObject({
    stdout: '��',
    stdout_base64: binary,
  });
  const long = Buffer.alloc(65, 'x').toString('base64');
  expect(await run({ command: 'cat', stdin_base64: long })).toMatchObject({
    stdout: 'x'.repeat(64),
    truncated: true,
  });
  expect(await run({ command: 'sleep', args: ['9'], timeout_ms: 5 })).toMatchObject({
    exit_code: 124,
    timed_out: true,
  });
});

test('a policy is shown as it was asked for, and a bad one is refused by its entry', async () => {
  const app = await start();
  const egress = { mode: 'deny_all', allow_cidrs: ['10.0.0.0/8'] };
  await post(app, '/sandboxes', { name: 'web', egress });
  expect((await app.inject('/sandboxes/web')).json()).toMatchObject({
    egress: { ...egress, deny_cidrs: [] },
  });
  const bad = await post(app, '/sandboxes', {
    egress: { mode: 'deny_all', deny_cidrs: ['10.0.0.0/8', '::/0'] },
  });
  expect([bad.statusCode, bad.json<{ error: string }>().error]).toEqual([
    400,
    'egress.deny_cidrs.1: "::/0" is IPv6: takes IPv4 networks only',
  ]);
});

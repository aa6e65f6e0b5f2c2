import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from './harness/client.ts';
import { Daemon } from './harness/daemon.ts';
import { expectFailure, expectNoContent } from './harness/failure.ts';
import { machineDirs } from './harness/host.ts';
import { sendRaw, sendRequest } from './harness/raw.ts';
import { createSandbox } from './harness/sandbox.ts';

const LIMIT = 64 * 1024;

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let client: Client;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start({ SERVICE_MAX_BODY_BYTES: String(LIMIT) }));
  client = daemon.client;
});

afterAll(() => stack.disposeAsync());

describe('routes', () => {
  it.each([
    ['GET', '/'],
    ['GET', '/sandbox'],
    ['POST', '/sandboxes/a/b/c'],
    ['GET', '/healthz/x'],
    ['DELETE', '/nothing/here?keep=false'],
  ])('%s %s is unknown', async (method, path) => {
    expectFailure(await client.call(method, path), 404, 'ROUTE_NOT_FOUND', method);
  });

  it.each([
    ['PUT', '/sandboxes', ['GET', 'POST']],
    ['DELETE', '/sandboxes', ['GET', 'POST']],
    ['OPTIONS', '/sandboxes', ['GET', 'POST']],
    ['PROPFIND', '/sandboxes', ['GET', 'POST']],
    ['POST', '/sandboxes/x', ['DELETE', 'GET']],
    ['GET', '/sandboxes/x/exec', ['POST']],
    ['PUT', '/sandboxes/x/read-file', ['POST']],
    ['POST', '/sandboxes/x/files', ['GET', 'PUT']],
    ['POST', '/healthz', ['GET']],
  ])('%s %s is not a method of it', async (method, path, methods) => {
    const answer = await client.call(method, path);
    expectFailure(answer, 405, 'METHOD_NOT_ALLOWED', method, path);
    const allow = (answer.headers.get('allow') ?? '').split(', ');
    expect(allow.filter((each) => each !== 'HEAD').toSorted()).toEqual(methods);
  });

  it.each(['/sandboxes/%', '/sandboxes/%zz', '/sandboxes/%c3%28', '/sandboxes/%ff/exec'])(
    'percent-encoding that makes no sense: %s',
    async (path) => {
      expectFailure(await client.call('GET', path), 400, 'INVALID_REQUEST', 'url');
    },
  );

  it('takes an encoded slash as a part of an id', async () => {
    expectFailure(await client.call('GET', '/sandboxes/a%2Fb'), 404, 'NOT_FOUND', 'a/b');
  });

  it('answers 404 for a long id', async () => {
    expectFailure(await client.call('GET', `/sandboxes/${'x'.repeat(1000)}`), 404, 'NOT_FOUND', 'xxx');
  });
});

describe('bodies', () => {
  it('refuses one over the limit, of announced and of unknown length', async () => {
    const body = `{"name": "${'x'.repeat(LIMIT)}"}`;
    expectFailure(await client.call('POST', '/sandboxes', body), 413, 'BODY_TOO_LARGE', String(LIMIT));
    const stream = new Blob([body]).stream();
    expectFailure(await client.call('POST', '/sandboxes', stream), 413, 'BODY_TOO_LARGE', String(LIMIT));
  });

  it('takes one that is as large as the limit', async () => {
    const frame = '{"name": ""}';
    const body = `{"name": "${'x'.repeat(LIMIT - frame.length)}"}`;
    expectFailure(await client.call('POST', '/sandboxes', body), 400, 'INVALID_REQUEST', 'name');
  });

  it('does not limit a raw upload', async () => {
    await using sandbox = await createSandbox(client);
    const content = new Uint8Array(2 * LIMIT).fill(7);
    expectNoContent(await client.call('PUT', `${sandbox.path}/files?path=/tmp/raw`, content));
    expect(await sandbox.sh('stat -c %s /tmp/raw')).toBe(String(2 * LIMIT));
  });

  it('reads JSON whatever the content type says, and none as {}', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json; charset=utf-8',
    ]) {
      const headers = { 'content-type': type };
      const answer = await client.call('POST', '/sandboxes', '{"vcpu_count": 0}', { headers });
      expectFailure(answer, 400, 'INVALID_REQUEST', 'vcpu_count');
    }
    const exec = await sendRequest(daemon.url, 'POST', '/sandboxes/x/exec', 'Content-Type: application/json');
    expectRaw(exec, 400, 'INVALID_REQUEST');
    expect(exec).toContain('command');
  });
});

describe('what is no HTTP', () => {
  it.each([
    ['text', 'hello there\r\n\r\n'],
    ['no method', ' / HTTP/1.1\r\n\r\n'],
    ['an unknown method', 'BREW / HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a bad version', 'GET / HTTP/9.9\r\nHost: x\r\n\r\n'],
    ['a NUL in the path', 'GET /a\0b HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a bad header', 'GET / HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n'],
    ['a bad length', 'POST /sandboxes HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n'],
    [
      'two lengths',
      'POST /sandboxes HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}',
    ],
    ['a bad chunk', 'POST /sandboxes HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'],
    ['headers without end', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`],
    ['no host', 'GET /sandboxes HTTP/1.1\r\nConnection: close\r\n\r\n'],
  ])('%s', async (_what, bytes) => {
    expectRaw(await sendRaw(daemon.url, bytes), 400, 'INVALID_REQUEST');
  });

  it('binary noise', async () => {
    const noise = String.fromCharCode(...Array.from({ length: 512 }, (_, at) => (at * 167 + 22) % 256));
    expectRaw(await sendRaw(daemon.url, noise), 400, 'INVALID_REQUEST');
  });

  it('an expectation that nobody meets', async () => {
    const answer = await sendRequest(daemon.url, 'GET', '/healthz', 'Expect: miracles');
    expect(answer).toMatch(/^HTTP\/1\.1 (200|417) /);
    expect(answer).toMatch(/^x-request-id: \S/im);
  });

  it('leaves the daemon well, and nothing behind', async () => {
    expect((await client.call('GET', '/healthz')).text).toBe('ok');
    expect(await machineDirs(daemon.stateDir)).toEqual([]);
  });
});

/** Checks the text of an error response. */
function expectRaw(answer: string, status: number, code: string): void {
  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(answer).toMatch(/^x-request-id: \S/im);
  expect(answer).toContain(`"code":"${code}"`);
}

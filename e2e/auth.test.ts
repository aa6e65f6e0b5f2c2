import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from './harness/client.ts';
import { Daemon } from './harness/daemon.ts';
import { expectFailure } from './harness/failure.ts';
import { allCommandLines, environmentOf, machinePid } from './harness/host.ts';
import { createSandbox } from './harness/sandbox.ts';

const TOKEN = 'tok-5f3c9a7e2b1d4860-secret';

const stack = new AsyncDisposableStack();
let daemon: Daemon;

beforeAll(async () => {
  const settings = { SERVICE_AUTH_TOKEN: TOKEN, SERVICE_LOG_LEVEL: 'trace' };
  daemon = stack.use(await Daemon.start(settings));
});

afterAll(() => stack.disposeAsync());

const ROUTES: (readonly [method: string, path: string])[] = [
  ['GET', '/sandboxes'],
  ['POST', '/sandboxes'],
  ['GET', '/sandboxes/x'],
  ['DELETE', '/sandboxes/x?keep=false'],
  ['POST', '/sandboxes/x/exec'],
  ['POST', '/sandboxes/x/read-file'],
  ['GET', '/sandboxes/x/files?path=/etc/passwd'],
  ['GET', '/openapi.json'],
  ['GET', '/no/such/route'],
  ['PATCH', '/sandboxes'],
  ['POST', '/healthz'],
];

const HEADERS: (readonly [what: string, headers: Record<string, string>])[] = [
  ['no token', {}],
  ['a wrong token', { authorization: 'Bearer wrong' }],
  ['a prefix of the token', { authorization: `Bearer ${TOKEN.slice(0, -1)}` }],
  ['more than the token', { authorization: `Bearer ${TOKEN}x` }],
  ['an empty token', { authorization: 'Bearer ' }],
  ['the token alone', { authorization: TOKEN }],
  ['another scheme', { authorization: `Basic ${TOKEN}` }],
  ['another header', { 'x-auth-token': TOKEN }],
];

describe('with a token configured', () => {
  it.each(ROUTES)('%s %s asks for it', async (method, path) => {
    for (const [, headers] of HEADERS) {
      const body = method === 'POST' ? '{}' : undefined;
      const answer = await daemon.client.call(method, path, body, { headers });
      expectFailure(answer, 401, 'UNAUTHORIZED', 'Authorization: Bearer');
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      expect(answer.text).not.toContain(TOKEN);
    }
  });

  it.each(HEADERS)('GET /sandboxes refuses %s', async (_what, headers) => {
    const answer = await daemon.client.call('GET', '/sandboxes', undefined, { headers });
    expectFailure(answer, 401, 'UNAUTHORIZED');
  });

  it('does not take it from the query of a plain route', async () => {
    const answer = await daemon.client.call('GET', `/sandboxes?token=${TOKEN}`);
    expectFailure(answer, 401, 'UNAUTHORIZED');
  });

  it('leaves health and metrics open', async () => {
    expect(await daemon.client.call('GET', '/healthz')).toMatchObject({ status: 200, text: 'ok' });
    expect((await daemon.client.call('GET', '/metrics')).status).toBe(200);
  });

  it('lets the token in, and shows it nowhere', async () => {
    const client = new Client(daemon.url, TOKEN);
    expect((await client.call('GET', '/sandboxes')).status).toBe(200);
    expectFailure(await client.call('GET', '/no/such/route'), 404, 'ROUTE_NOT_FOUND');
    await using sandbox = await createSandbox(client);
    expect(await sandbox.sh('echo in')).toBe('in');
    expect(await sandbox.sh('env; tr "\\0" "\\n" < /proc/1/environ; cat /proc/cmdline')).not.toContain(TOKEN);
    expect(await allCommandLines()).not.toContain(TOKEN);
    expect(await environmentOf(await machinePid(daemon.stateDir, sandbox.id))).not.toContain(TOKEN);
    expect(daemon.log.stdout).toContain(sandbox.id);
    expect(daemon.log.text()).not.toContain(TOKEN);
  });
});

describe('request ids', () => {
  it.each(['a', 'req-42', '~ printable {"ascii"} !', 'x'.repeat(128)])('echoes %j', async (id) => {
    expect(await requestIdFor(id)).toBe(id);
  });

  it.each(['x'.repeat(129), 'ä', 'a\tb', ''])('replaces %j', async (id) => {
    const given = await requestIdFor(id);
    expect(given).not.toBe(id);
    expect(given).toMatch(/^[\x20-\x7e]{1,128}$/);
  });

  it('makes one where there is none, each time another', async () => {
    const ids = await Promise.all([requestIdFor(), requestIdFor()]);
    expect(ids[0]).not.toBe(ids[1]);
  });

  it('echoes it on errors as well', async () => {
    const headers = { 'x-request-id': 'mine' };
    for (const path of ['/sandboxes', '/no/such/route', '/%zz']) {
      const answer = await daemon.client.call('GET', path, undefined, { headers });
      expect(answer.headers.get('x-request-id')).toBe('mine');
    }
  });

  async function requestIdFor(id?: string): Promise<string | null> {
    const headers: Record<string, string> = id === undefined ? {} : { 'x-request-id': id };
    return (await daemon.client.call('GET', '/healthz', undefined, { headers })).headers.get('x-request-id');
  }
});

import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { GuestIdentity } from './document.ts';
import { MetadataServer } from './server.ts';

const NAMED: GuestIdentity = { id: 'id-1', name: 'web', tags: { env: 'prod', 'a/b c': 'slashed' } };

describe('MetadataServer', () => {
  let server: MetadataServer;
  let identity: GuestIdentity | undefined;
  beforeAll(async () => {
    const identityOf = (address: string) => (address === '127.0.0.1' ? identity : undefined);
    server = await MetadataServer.listen({ host: '127.0.0.1', port: 0, identityOf });
  });
  beforeEach(() => {
    identity = NAMED;
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const ask = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${server.port}${path}`, init);
  const putToken = (headers: Record<string, string>) => ask('/latest/api/token', { method: 'PUT', headers });
  const token = async (seconds = 60) =>
    (await putToken({ 'X-metadata-token-ttl-seconds': String(seconds) })).text();
  const read = async (path: string, headers: Record<string, string> = {}) =>
    ask(path, { headers: { 'X-metadata-token': await token(), ...headers } });
  const JSON_ONLY = { accept: 'application/json' };

  it('gives the whole document as JSON', async () => {
    const response = await read('/', JSON_ONLY);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toEqual({
      id: 'id-1',
      name: 'web',
      tags: { env: 'prod', 'a/b c': 'slashed' },
    });
  });

  it('lists the keys to who does not ask for JSON', async () => {
    expect(await (await read('/')).text()).toBe('id\nname\ntags');
  });

  it.each([
    ['/id', 'id-1'],
    ['/name', 'web'],
    ['/tags', 'env\na/b c'],
    ['/tags/', 'env\na/b c'],
    ['/tags/env', 'prod'],
    ['/tags/a%2Fb%20c', 'slashed'],
  ])('gives %s as text', async (path, text) => {
    expect(await (await read(path)).text()).toBe(text);
  });

  it('gives a part as JSON', async () => {
    expect(await (await read('/tags/env', JSON_ONLY)).json()).toBe('prod');
  });

  it.each(['/none', '/tags/none', '/name/deeper', '/tags/toString', '/__proto__', '/tags/%zz'])(
    'has nothing at %s',
    async (path) => {
      expect((await read(path)).status).toBe(404);
    },
  );

  it('has null for the name of a sandbox that only has tags', async () => {
    identity = { id: 'id-2', name: undefined, tags: { env: 'dev' } };
    expect(await (await read('/', JSON_ONLY)).json()).toEqual({
      id: 'id-2',
      name: null,
      tags: { env: 'dev' },
    });
  });

  it('follows an identity that is rewritten, and takes no token of the one before', async () => {
    const old = await token();
    identity = { ...NAMED, name: 'renamed' };
    expect(await (await ask('/name', { headers: { 'X-metadata-token': old } })).text()).toBe('renamed');
    identity = { ...NAMED, id: 'id-3' };
    expect((await ask('/name', { headers: { 'X-metadata-token': old } })).status).toBe(401);
  });

  it('wants a token', async () => {
    expect((await ask('/')).status).toBe(401);
    expect((await read('/', { 'X-metadata-token': 'wrong' })).status).toBe(401);
  });

  it.each(['', '0', '21601', '-1', '1.5', 'soon', '1e2'])(
    'gives no token for %j seconds',
    async (seconds) => {
      expect((await putToken({ 'X-metadata-token-ttl-seconds': seconds })).status).toBe(400);
    },
  );

  it('gives no token without a lifetime, and says the lifetime of one that it gives', async () => {
    expect((await putToken({})).status).toBe(400);
    const response = await putToken({ 'X-metadata-token-ttl-seconds': '21600' });
    expect(response.headers.get('x-metadata-token-ttl-seconds')).toBe('21600');
  });

  it('gives no token to a forwarded request', async () => {
    const headers = { 'X-metadata-token-ttl-seconds': '60', 'X-Forwarded-For': '203.0.113.7' };
    expect((await putToken(headers)).status).toBe(403);
  });

  it('takes no other method', async () => {
    expect((await ask('/latest/api/token')).status).toBe(405);
    const response = await ask('/', { method: 'POST', body: 'x' });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('does not serve a sandbox without name and tags, nor a stranger', async () => {
    identity = { id: 'id-4', name: undefined, tags: {} };
    expect((await ask('/')).status).toBe(404);
    expect((await putToken({ 'X-metadata-token-ttl-seconds': '60' })).status).toBe(404);
    identity = undefined;
    expect((await ask('/')).status).toBe(404);
  });

  it('gives one guest no more than its share of connections', async () => {
    const sockets = Array.from({ length: 40 }, () => connect(server.port, '127.0.0.1'));
    const closed = sockets.map(
      (socket) =>
        new Promise<void>((resolve) => socket.on('error', () => undefined).once('close', () => resolve())),
    );
    await Promise.any(closed);
    for (const socket of sockets) socket.destroy();
    await Promise.all(closed);
    expect((await read('/')).status).toBe(200);
  });
});

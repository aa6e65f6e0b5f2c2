import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from './harness/client.ts';
import { Daemon } from './harness/daemon.ts';
import { expectFailure } from './harness/failure.ts';
import { allCommandLines, environmentOf, machinePid } from './harness/host.ts';
import { until } from './harness/poll.ts';
import { createSandbox } from './harness/sandbox.ts';

const SOON_MS = 20_000;

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let client: Client;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start({ SERVICE_LOG_LEVEL: 'trace' }));
  client = daemon.client;
});

afterAll(() => stack.disposeAsync());

describe('GET /healthz', () => {
  it('answers ok', async () => {
    const answer = await client.call('GET', '/healthz');
    expect(answer).toMatchObject({ status: 200, text: 'ok' });
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
  });
});

describe('GET /metrics', () => {
  const PHASES = ['rootfs_clone', 'network_lease', 'setup', 'egress_apply', 'total'];

  it('has every metric from the start, in the text format of Prometheus', async () => {
    const answer = await client.call('GET', '/metrics');
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(answer.text).toMatch(/^# TYPE sandboxes_created_total counter$/m);
    expect(answer.text).toMatch(/^# TYPE sandboxes_active gauge$/m);
    for (const name of ['boot_duration_ms', 'exec_latency_ms', 'create_phase_duration_ms'])
      expect(answer.text).toMatch(new RegExp(`^# TYPE ${name} histogram$`, 'm'));
    expect(await metric('sandboxes_created_total')).toBe(0);
    expect(await metric('sandboxes_active')).toBe(0);
    for (const phase of PHASES)
      expect(await metric(`create_phase_duration_ms_count{phase="${phase}"}`)).toBe(0);
  });

  it('moves with what happens', async () => {
    const sandbox = await createSandbox(client);
    expect(await metric('sandboxes_created_total')).toBe(1);
    expect(await metric('sandboxes_active')).toBe(1);
    expect(await metric('boot_duration_ms_count')).toBe(1);
    expect(await metric('boot_duration_ms_sum')).toBeGreaterThan(0);
    const phase = (name: string) => metric(`create_phase_duration_ms_sum{phase="${name}"}`);
    const total = await phase('total');
    expect(await metric('create_phase_duration_ms_count{phase="total"}')).toBe(1);
    const parts = (await phase('rootfs_clone')) + (await phase('setup'));
    // The parts explain where the time of a create goes.
    expect(parts).toBeLessThanOrEqual(total);
    expect(parts).toBeGreaterThan(total * 0.9);

    await sandbox.sh('true');
    expect(await metric('exec_latency_ms_count')).toBe(1);
    await sandbox.destroy();
    expect(await metric('sandboxes_active')).toBe(0);
    expect(await metric('sandboxes_created_total')).toBe(1);
  });

  it('does not count what was refused', async () => {
    const before = await metric('sandboxes_created_total');
    expectFailure(await client.call('POST', '/sandboxes', { vcpu_count: 0 }), 400, 'INVALID_REQUEST');
    expect(await metric('sandboxes_created_total')).toBe(before);
  });
});

describe('description of the interface', () => {
  it('lists every route', async () => {
    const { paths } = await document();
    const routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    const operations = [
      'exec',
      'read-file',
      'write-file',
      'chmod',
      'chown',
      'mkdir',
      'rename',
      'copy',
      'symlink',
    ];
    expect(routes).toEqual(
      expect.arrayContaining([
        ...['get /healthz', 'get /metrics', 'get /sandboxes', 'post /sandboxes'],
        ...['get /sandboxes/{id}', 'delete /sandboxes/{id}'],
        ...['get /sandboxes/{id}/files', 'put /sandboxes/{id}/files'],
        ...[...operations, 'readlink', 'truncate', 'list-dir'].map((name) => `post /sandboxes/{id}/${name}`),
      ]),
    );
  });

  it('lists the closed set of error codes', async () => {
    const codes = findEnum(await document(), 'INVALID_REQUEST') ?? [];
    expect(codes).toEqual(
      expect.arrayContaining([
        ...['UNAUTHORIZED', 'NOT_FOUND', 'ROUTE_NOT_FOUND', 'METHOD_NOT_ALLOWED', 'NAME_TAKEN'],
        ...['BODY_TOO_LARGE', 'SNAPSHOT_FORKED', 'SANDBOX_UNREACHABLE', 'BOOT_FAILED'],
        ...['ENOENT', 'EACCES', 'EISDIR', 'ENOTDIR', 'EEXIST', 'ENOTEMPTY', 'ELOOP', 'EINVAL'],
      ]),
    );
    for (const code of codes) expect(code).toMatch(/^[A-Z][A-Z0-9_]*$/);
    expect(new Set(codes).size).toBe(codes.length);
  });

  it('has a page for people, with all that the page loads', async () => {
    const { status, headers, text } = await client.call('GET', '/docs');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^text\/html/);
    const assets = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, target = '']) => target);
    expect(assets.length).toBeGreaterThan(0);
    for (const asset of assets) {
      const { href, origin } = new URL(asset, `${client.url}/docs`);
      expect(origin).toBe(client.url);
      expect((await client.call('GET', href.slice(origin.length))).status, asset).toBe(200);
    }
  });
});

describe('the log', () => {
  it('is JSON, and names the request and the sandbox', async () => {
    const headers = { 'x-request-id': 'log-me' };
    await using sandbox = await createSandbox(client, { name: 'logged' }, { headers });
    const ofSandbox = () => daemon.log.lines().filter((line) => line['sandbox_id'] === sandbox.id);
    await until('the log names the sandbox', () => ofSandbox().length > 0, SOON_MS);
    expect(ofSandbox().map((line) => line['request_id'])).toContain('log-me');
    for (const line of daemon.log.lines()) expect(line).toMatchObject({ time: expect.any(String) as string });
  });

  it('keeps secrets to itself, and so does the host', async () => {
    const secrets = ['sandbox-env-4f1a', 'exec-env-9c2e', 'stdin-71bd', 'written-d05f', 'argument-e86b'];
    const [inSandbox = '', inExec = '', inStdin = '', written = '', argument = ''] = secrets;
    await using sandbox = await createSandbox(client, { env: { SECRET: inSandbox } });
    const stdin_base64 = Buffer.from(inStdin).toString('base64');
    const script = 'echo $SECRET $OTHER $1; cat';
    const command = {
      command: 'sh',
      args: ['-c', script, 'sh', argument],
      env: { OTHER: inExec },
      stdin_base64,
    };
    const { json } = await sandbox.post('exec', command);
    expect(json).toMatchObject({ stdout: `${inSandbox} ${inExec} ${argument}\n${inStdin}` });
    const content_base64 = Buffer.from(written).toString('base64');
    expect((await sandbox.post('write-file', { path: '/tmp/x', content_base64 })).status).toBe(204);
    // Failures talk the most.
    await sandbox.post('exec', { command: 'no-such-program', env: { OTHER: inExec } });
    await sandbox.post('exec', { command: 'true', env: { OTHER: inExec }, cwd: '/no/such/dir' });
    await sandbox.post('exec', `{"env": {"OTHER": "${inExec}"`);
    const headers = { 'x-request-id': 'the-last-of-them' };
    await client.call('POST', '/sandboxes', { env: { SECRET: inSandbox }, vcpu_count: 99 }, { headers });
    await until('the log has it all', () => daemon.log.stdout.includes('the-last-of-them'), SOON_MS);

    const places = {
      log: daemon.log.text(),
      'command lines': await allCommandLines(),
      'the VM': await environmentOf(await machinePid(daemon.stateDir, sandbox.id)),
      'the state directory': await smallFiles(daemon.stateDir),
      metrics: (await client.call('GET', '/metrics')).text,
      list: (await client.call('GET', '/sandboxes')).text,
    };
    for (const [place, text] of Object.entries(places))
      for (const secret of secrets) expect(text.includes(secret), `${secret} in ${place}`).toBe(false);
  });
});

async function metric(name: string): Promise<number> {
  const { text } = await client.call('GET', '/metrics');
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  if (line === undefined) throw new Error(`no ${name} in\n${text}`);
  return Number(line.slice(name.length + 1));
}

async function document(): Promise<{ paths: Record<string, object> }> {
  const { status, json } = await client.call('GET', '/openapi.json');
  expect(status).toBe(200);
  return json as { paths: Record<string, object> };
}

/** The first list of values, anywhere in the document, that holds this one. */
function findEnum(node: unknown, value: string): string[] | undefined {
  if (typeof node !== 'object' || node === null) return undefined;
  if (Array.isArray(node) && node.includes(value)) return node as string[];
  for (const child of Object.values(node)) {
    const found = findEnum(child, value);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The text of every file below a directory, but for the guest's own memory and disk. */
async function smallFiles(dir: string): Promise<string> {
  const texts: string[] = [];
  for (const name of await readdir(dir, { recursive: true })) {
    const isFile = (await stat(join(dir, name))).isFile();
    if (isFile && !/(^|\/)memory$|\.qcow2$/.test(name)) texts.push(await readFile(join(dir, name), 'latin1'));
  }
  return texts.join('\n');
}

describe('without a token configured', () => {
  it('keeps out what a page of another site sends', async () => {
    const headers = { 'sec-fetch-site': 'cross-site' };
    expectFailure(await client.call('POST', '/sandboxes', '{}', { headers }), 403, 'CROSS_SITE');
    expect((await client.call('GET', '/sandboxes')).status).toBe(200);
  });
});

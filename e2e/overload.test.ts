import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Daemon, startRefused } from './harness/daemon.ts';
import { expectFailure } from './harness/failure.ts';
import { machineDirs } from './harness/host.ts';
import { sendRaw } from './harness/raw.ts';
import { createSandbox } from './harness/sandbox.ts';
import type { Sandbox } from './harness/sandbox.ts';

const LIMITS = {
  SERVICE_MAX_CONCURRENT_REQUESTS: '4',
  SERVICE_REQUEST_TIMEOUT_SECS: '2',
  SERVICE_MAX_CONNECTIONS: '200',
  // More than any host has: what a sandbox may ask for is not what there is.
  SERVICE_MAX_MEM_SIZE_MIB: '1048576',
};

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let sandbox: Sandbox;
beforeAll(async () => {
  daemon = stack.use(await Daemon.start(LIMITS));
  sandbox = stack.use(await createSandbox(daemon.client));
});
afterAll(() => stack.disposeAsync());

describe('more than the daemon takes', () => {
  it('requests beyond their number are refused, and health is told all the same', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => sandbox.post('exec', { command: 'sleep', args: ['2'] })),
    );
    const refused = answers.filter(({ status }) => status === 503);
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(4);
    expect(refused.length).toBeGreaterThan(0);
    for (const each of refused) {
      expectFailure(each, 503, 'TOO_MANY_REQUESTS', '4');
      expect(each.headers.get('retry-after')).toBe('1');
    }
    expect((await daemon.client.call('GET', '/healthz')).text).toBe('ok');
    expect(await sandbox.sh('echo well')).toBe('well');
  });

  it('a hundred connections that never finish a request are given up, and hold up nobody', async () => {
    const { hostname, port } = new URL(daemon.url);
    const slow = Array.from({ length: 100 }, () =>
      connect(Number(port), hostname).on('error', () => undefined),
    );
    for (const socket of slow) socket.write('GET /sandboxes HTTP/1.1\r\nHost: x\r\nX-');
    expect(await sandbox.sh('echo well')).toBe('well');
    const ended = slow.map((socket) => new Promise((over) => socket.resume().once('close', over)));
    await Promise.all(ended);
    const body = 'POST /sandboxes HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{';
    const answer = await sendRaw(daemon.url, body);
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toContain('"code":"REQUEST_TIMEOUT"');
  });

  it('a sandbox larger than the host is refused with figures, and leaves nothing', async () => {
    const before = await machineDirs(daemon.stateDir);
    const answer = await daemon.client.call('POST', '/sandboxes', { mem_size_mib: 1_048_576 });
    expectFailure(answer, 503, 'INSUFFICIENT_MEMORY', '1048576 MiB');
    expect(answer.text).toMatch(/\d+ MiB can be had/);
    expect(await machineDirs(daemon.stateDir)).toEqual(before);
  });
});

it('a host that has nothing for jails refuses them, and names all that is missing at once', async () => {
  const { code, stderr } = await startRefused({
    SERVICE_JAILER_ENABLED: 'true',
    SERVICE_JAILER_CGROUP: '/proc/no-cgroup',
    SERVICE_USER: 'games',
  });
  expect(code).toBeGreaterThan(0);
  const lines = stderr.trim().split('\n');
  for (const line of lines) expect(line).toMatch(/^atolld: SERVICE_JAILER_ENABLED: /);
  for (const missing of ['/etc/subuid has no', '/etc/subgid has no', 'cgroup'])
    expect(stderr).toContain(missing);
  expect(lines.length).toBeGreaterThanOrEqual(3);
});

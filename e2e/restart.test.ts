import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { Daemon, endDuringStart, startRefused } from './harness/daemon.ts';
import { expectFailure } from './harness/failure.ts';
import { addressesWithPolicy, machineDirs, machinePids } from './harness/host.ts';
import { failureOf, timed, until } from './harness/poll.ts';
import { createSandbox, listSandboxes } from './harness/sandbox.ts';

// The longest that an orderly end may take.
const END_MS = 10_000;
const SOON_MS = 20_000;

let stack = new AsyncDisposableStack();

afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

async function startDaemon(): Promise<Daemon> {
  return stack.use(await Daemon.start());
}

describe('SIGKILL of the daemon', () => {
  it('with five sandboxes live and one create in flight leaves nothing after the next start', async () => {
    const first = await startDaemon();
    const { client, stateDir } = first;
    await Promise.all(Array.from({ length: 5 }, () => createSandbox(client, { mem_size_mib: 256 })));
    const inFlight = failureOf(createSandbox(client, { name: 'in-flight' }));
    await until('a sixth VM starts', async () => (await machinePids(stateDir)).length === 6, SOON_MS);
    await first.kill();
    expect(await inFlight).toBeInstanceOf(Error);
    expect(await machineDirs(stateDir)).toHaveLength(6);

    const second = stack.use(await first.restart());
    expect(await machineDirs(stateDir)).toEqual([]);
    expect(await machinePids(stateDir)).toEqual([]);
    expect(await listSandboxes(second.client)).toEqual([]);
    const { json } = await second.client.call('GET', '/sandboxes/history');
    const { history } = json as { history: { end_reason: string; ended_at_unix: number }[] };
    expect(history.map(({ end_reason }) => end_reason)).toEqual(Array(5).fill('orphaned_by_restart'));
    await using sandbox = await createSandbox(second.client, { name: 'in-flight' });
    expect(await sandbox.sh('echo well')).toBe('well');
  });

  it('during ten creates leaves the next with every network device free and no policy', async () => {
    const first = await startDaemon();
    const egress = { mode: 'deny_all', allow_cidrs: ['198.51.100.0/24'] } as const;
    const creates = Array.from({ length: 10 }, () =>
      failureOf(createSandbox(first.client, { mem_size_mib: 128, egress })),
    );
    await until('some have a lease', async () => (await addressesWithPolicy()).length >= 3, SOON_MS);
    await first.kill();
    for (const failure of creates) expect(await failure).toBeInstanceOf(Error);
    expect((await addressesWithPolicy()).length).toBeGreaterThan(0);

    const second = stack.use(await first.restart({ SERVICE_TAP_POOL_SIZE: '10' }));
    await second.assertClean();
    const crowd = Array.from({ length: 10 }, () => createSandbox(second.client, { mem_size_mib: 128 }));
    await Promise.all(crowd);
    const answer = await second.client.call('POST', '/sandboxes', { name: 'eleventh' });
    expectFailure(answer, 503, 'NETWORK_POOL_EXHAUSTED', '10');
    expect(await addressesWithPolicy()).toHaveLength(10);
  });

  it('ends its VMs without a next start', async () => {
    const daemon = await startDaemon();
    await createSandbox(daemon.client);
    await daemon.kill();
    await until('its VM ends', async () => (await machinePids(daemon.stateDir)).length === 0, SOON_MS);
  });
});

describe.each(['SIGTERM', 'SIGINT'] as const)('%s to the daemon', (signal) => {
  it('ends every sandbox, whatever goes on, and leaves nothing', async () => {
    const daemon = await startDaemon();
    const { client, stateDir } = daemon;
    const [sandbox] = await Promise.all([createSandbox(client), createSandbox(client)]);
    const exec = sandbox.post('exec', { command: 'sleep', args: ['5151'] }).catch((error: unknown) => error);
    await until('the command runs', async () => (await sandbox.pgrep('sleep 5151')).length === 1, SOON_MS);
    const create = client.call('POST', '/sandboxes', {}).catch((error: unknown) => error);
    await until('a third VM starts', async () => (await machinePids(stateDir)).length === 3, SOON_MS);

    daemon.signal(signal);
    const { value, ms } = await timed(daemon.ended());
    expect(value).toEqual({ code: 0, signal: null });
    expect(ms).toBeLessThan(END_MS);
    await daemon.assertClean();
    // Both were answered or cut off, and neither hangs.
    for (const outcome of await Promise.all([exec, create])) {
      if (outcome instanceof Error) continue;
      expect((outcome as { status: number }).status).toBeGreaterThanOrEqual(500);
    }
    expect(daemon.log.stderr).toBe('');
  });
});

describe.each([
  ['has tried KVM', 'no KVM: machines are emulated, which is slower'],
  ['has looked at what the last one left', 'sandboxes of an earlier run are orphaned'],
  ['listens', 'listening'],
])('a signal at the moment at which a start %s', (_when, message) => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'is an orderly end (%s), and the next start finds all well',
    async (signal) => {
      const first = await startDaemon();
      const { id } = await createSandbox(first.client);
      await first.kill();
      const { code, left, log } = await endDuringStart(first.stateDir, message, signal);
      expect({ code, left, stderr: log.stderr }).toEqual({ code: 0, left: [], stderr: '' });
      expect(log.find('stopping')).toMatchObject({ reason: signal });
      const next = stack.use(await first.restart());
      const { json } = await next.client.call('GET', '/sandboxes/history');
      expect(json).toMatchObject({ history: [{ id, end_reason: 'orphaned_by_restart' }] });
    },
  );
});

describe('a start on a broken file', () => {
  it.each(['pools.json', 'history.db'])(
    '%s: is refused in one line, and succeeds once it is moved away',
    async (name) => {
      const first = await startDaemon();
      await first.stop();
      const path = join(first.stateDir, name);
      await writeFile(path, '[{ "neither": "pools", "nor": "a database"');
      const { code, stderr } = await startRefused({}, first.stateDir);
      expect(code).toBeGreaterThan(0);
      expect(stderr.trim().split('\n')).toHaveLength(1);
      expect(stderr).toContain(path);
      expect(stderr).toContain('move it away');
      await rename(path, `${path}.broken`);
      const next = stack.use(await first.restart());
      expect((await next.client.call('GET', '/healthz')).text).toBe('ok');
    },
  );
});

describe('a second daemon on the same state directory', () => {
  it('refuses to start, says why, and does no harm', async () => {
    const first = await startDaemon();
    const sandbox = await createSandbox(first.client, { name: 'untouched' });
    const { code, stderr } = await startRefused({}, first.stateDir);
    expect(code).toBeGreaterThan(0);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(stderr).toContain(first.stateDir);
    expect(stderr).toContain(String(first.pid));
    expect(await sandbox.sh('echo unharmed')).toBe('unharmed');
    expect(await machineDirs(first.stateDir)).toEqual([sandbox.id]);
    // Nor is the lock harmed: a third is refused as well.
    expect((await startRefused({}, first.stateDir)).stderr).toContain(String(first.pid));
  });

  it('starts once the first has ended', async () => {
    const first = await startDaemon();
    await first.stop();
    const second = stack.use(await first.restart());
    expectFailure(await second.client.call('GET', '/sandboxes/nobody'), 404, 'NOT_FOUND');
  });
});

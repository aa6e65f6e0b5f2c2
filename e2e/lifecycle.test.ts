import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from './harness/client.ts';
import { Daemon } from './harness/daemon.ts';
import { expectFailure, expectNoContent } from './harness/failure.ts';
import { machineDirs, machinePid, machinePids, openFds } from './harness/host.ts';
import { failureOf, timed, until, within } from './harness/poll.ts';
import { createSandbox, listSandboxes } from './harness/sandbox.ts';

// What the contract promises for a call to a sandbox whose VM is gone.
const NOTICED_MS = 1000;
const SOON_MS = 20_000;

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let client: Client;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start());
  client = daemon.client;
});

afterEach(() => daemon.assertRunning());
afterAll(() => stack.disposeAsync());

describe('many creates at once', () => {
  it('20 all succeed, and leave nothing when they are deleted', { timeout: 300_000 }, async () => {
    const fds = await openFds(daemon.pid);
    const names = Array.from({ length: 20 }, (_, at) => `crowd-${at}`);
    const crowd = await Promise.all(
      names.map((name) => createSandbox(client, { name, tags: { at: name.slice(6) }, mem_size_mib: 256 })),
    );
    expect(await listSandboxes(client)).toHaveLength(20);
    expect(await machinePids(daemon.stateDir)).toHaveLength(20);
    expect(await Promise.all(crowd.map((sandbox) => sandbox.sh('hostname')))).toEqual(names);
    // All ask the metadata service at the same time, and each is told of itself.
    expect(await Promise.all(crowd.map((sandbox) => sandbox.metadata()))).toEqual(
      crowd.map(({ id }, at) => ({ id, name: names[at], tags: { at: String(at) } })),
    );

    for (const answer of await Promise.all(crowd.map((sandbox) => sandbox.destroy())))
      expectNoContent(answer);
    expect(await listSandboxes(client)).toEqual([]);
    await daemon.assertClean();
    await until('no file is left open', async () => (await openFds(daemon.pid)) <= fds + 22, SOON_MS);
  });
});

describe('a VM that ends by itself', () => {
  it('is told of at once: 502, off the list, files gone, delete 204', async () => {
    const sandbox = await createSandbox(client, { name: 'victim' });
    process.kill(await machinePid(daemon.stateDir, sandbox.id), 'SIGKILL');
    const { value, ms } = await timed(sandbox.post('exec', { command: 'true' }));
    expectFailure(value, 502, 'SANDBOX_UNREACHABLE', sandbox.id);
    expect(ms).toBeLessThan(NOTICED_MS);

    await until('it leaves the list', async () => (await listSandboxes(client)).length === 0, SOON_MS);
    const again = await timed(sandbox.post('read-file', { path: '/etc/hostname' }));
    expectFailure(again.value, 502, 'SANDBOX_UNREACHABLE', sandbox.id);
    expect(again.ms).toBeLessThan(NOTICED_MS);
    await daemon.assertClean();

    expectNoContent(await sandbox.destroy());
    expectFailure(await sandbox.destroy(), 404, 'NOT_FOUND', sandbox.id);
    await using next = await createSandbox(client, { name: 'victim' });
    expect(await next.sh('hostname')).toBe('victim');
  });

  it('gives its name free without a delete', async () => {
    const lost = await createSandbox(client, { name: 'heir' });
    process.kill(await machinePid(daemon.stateDir, lost.id), 'SIGKILL');
    await until('it leaves the list', async () => (await listSandboxes(client)).length === 0, SOON_MS);
    await using next = await createSandbox(client, { name: 'heir' });
    expect((await client.call('GET', '/sandboxes/heir')).json).toMatchObject({ id: next.id });
    expectNoContent(await lost.destroy());
    expect((await client.call('GET', '/sandboxes/heir')).json).toMatchObject({ id: next.id });
  });

  it('ends the calls in flight: exec and upload', async () => {
    await using sandbox = await createSandbox(client);
    const exec = sandbox.post('exec', { command: 'sleep', args: ['6161'] });
    const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) });
    const upload = client.call('PUT', `${sandbox.path}/files?path=/root/upload`, endless);
    await until('the command runs', async () => (await sandbox.pgrep('sleep 6161')).length === 1, SOON_MS);
    await until(
      'the upload flows',
      async () => (await sandbox.exec('test', ['-s', '/root/upload'])).exit_code === 0,
      SOON_MS,
    );
    process.kill(await machinePid(daemon.stateDir, sandbox.id), 'SIGKILL');
    const { value, ms } = await timed(exec);
    expectFailure(value, 502, 'SANDBOX_UNREACHABLE', sandbox.id);
    expect(ms).toBeLessThan(NOTICED_MS);
    expectFailure(await within('the upload ends', upload, SOON_MS), 502, 'SANDBOX_UNREACHABLE', sandbox.id);
  });

  it.each([
    ['ends by itself', 'files?path=/root/sparse', undefined],
    ['ends by itself', 'read-file', { path: '/root/sparse' }],
    ['is destroyed', 'files?path=/root/sparse', undefined],
    ['is destroyed', 'read-file', { path: '/root/sparse' }],
  ])('that %s never makes a part of a file look like the whole (%s)', async (how, route, body) => {
    await using sandbox = await createSandbox(client);
    await sandbox.sh('truncate -s 8G /root/sparse');
    const method = body === undefined ? 'GET' : 'POST';
    const response = await client.open(method, `${sandbox.path}/${route}`, body);
    expect(response.status).toBe(200);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    if (how === 'is destroyed') expectNoContent(await sandbox.destroy());
    else process.kill(await machinePid(daemon.stateDir, sandbox.id), 'SIGKILL');
    const rest = async () => {
      while (!(await reader.read()).done);
    };
    expect(await failureOf(within('the transfer ends', rest(), SOON_MS))).toMatchObject({
      message: 'terminated',
    });
  });

  it('by its own hand ends the call that did it, and all is as with any other end', async () => {
    await using sandbox = await createSandbox(client);
    // reboot(2) with LINUX_REBOOT_CMD_RESTART: no init that could refuse is asked.
    const reboot = 'import ctypes; ctypes.CDLL(None).reboot(0x01234567)';
    const answer = await sandbox.post('exec', { command: 'python3', args: ['-c', reboot] });
    expectFailure(answer, 502, 'SANDBOX_UNREACHABLE', sandbox.id);
    await until('it leaves the list', async () => (await listSandboxes(client)).length === 0, SOON_MS);
    await daemon.assertClean();
  });

  it('is not missed when two callers wait', async () => {
    await using sandbox = await createSandbox(client);
    process.kill(await machinePid(daemon.stateDir, sandbox.id), 'SIGKILL');
    const answers = await Promise.all([
      sandbox.post('list-dir', { path: '/' }),
      sandbox.post('exec', { command: 'true' }),
    ]);
    for (const answer of answers) expectFailure(answer, 502, 'SANDBOX_UNREACHABLE', sandbox.id);
  });
});

describe('a client that goes away', () => {
  it.each(['machine', 'process'])('during its create, when there is a %s, leaves nothing', async (what) => {
    const gone = new AbortController();
    const failure = failureOf(createSandbox(client, { name: `orphan-${what}` }, { signal: gone.signal }));
    const isThere = async () =>
      (await (what === 'machine' ? machineDirs(daemon.stateDir) : machinePids(daemon.stateDir))).length > 0;
    await until(`there is a ${what}`, isThere, SOON_MS);
    gone.abort(new Error('gone'));
    expect(await failure).toMatchObject({ message: 'gone' });
    await daemon.assertClean();
    expect(await listSandboxes(client)).toEqual([]);
    await using next = await createSandbox(client, { name: `heir-of-${what}` });
    expect(await next.sh('echo well')).toBe('well');
  });
});

import { afterEach, describe, expect, it } from 'vitest';
import { Daemon, startRefused } from './harness/daemon.ts';
import type { Env } from './harness/daemon.ts';
import { expectFailure } from './harness/failure.ts';
import { until } from './harness/poll.ts';
import { createSandbox, listSandboxes, Sandbox } from './harness/sandbox.ts';
import { Socket } from './harness/socket.ts';

const SOON_MS = 30_000;
const SIZE = { vcpu_count: 1, mem_size_mib: 128 };

let stack = new AsyncDisposableStack();
afterEach(async () => {
  const used = stack;
  stack = new AsyncDisposableStack();
  await used.disposeAsync();
});
/** Starts a daemon, and removes what it keeps when the test is over: its networks are not held then. */
async function start(env: Env): Promise<Daemon> {
  const daemon = stack.use(await Daemon.start(env));
  stack.defer(async () => {
    for (const { id } of await listSandboxes(daemon.client))
      await daemon.client.call('DELETE', `/sandboxes/${id}?keep=false`);
    // A fork that is being destroyed keeps its snapshot until it is gone.
    const isEmpty = async () => {
      for (const { id } of await heldSnapshots(daemon))
        await daemon.client.call('DELETE', `/snapshots/${id}`);
      return (await heldSnapshots(daemon)).length === 0;
    };
    await until('nothing is kept', isEmpty, SOON_MS);
  });
  return daemon;
}
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('SERVICE_AUTO_SUSPEND_TIMEOUT_SECS', () => {
  it('suspends what is idle, with its state, and nothing that is used', async () => {
    const daemon = await start({ SERVICE_AUTO_SUSPEND_TIMEOUT_SECS: '2' });
    const idle = await createSandbox(daemon.client, { ...SIZE, name: 'idle' });
    await idle.sh('echo remembered >/root/note; (sleep 5000 >/dev/null 2>&1 &)');
    const busy = await createSandbox(daemon.client, { ...SIZE, name: 'busy' });
    const work = busy.sh('sleep 6; echo done');
    const names = async () => (await listSandboxes(daemon.client)).map(({ name }) => name);
    await until('the idle one is suspended', async () => (await names()).join() === 'busy', SOON_MS);
    expect(await work).toBe('done');

    expectFailure(
      await daemon.client.call('GET', '/sandboxes/by-name/idle'),
      409,
      'NAME_HELD_BY_SNAPSHOT',
      'get-or-create',
    );
    const { json } = await daemon.client.call('POST', '/sandboxes/get-or-create', { name: 'idle' });
    expect(json).toMatchObject({ created: false });
    const again = new Sandbox(daemon.client, (json as { id: string }).id);
    expect(await again.sh('cat /root/note; pgrep -c sleep')).toBe('remembered\n1');
  });

  it('spares what has a terminal open or a background command, and takes it when they end', async () => {
    const daemon = await start({ SERVICE_AUTO_SUSPEND_TIMEOUT_SECS: '1' });
    const [typed, worked] = await Promise.all([
      createSandbox(daemon.client, { ...SIZE, name: 'typed' }),
      createSandbox(daemon.client, { ...SIZE, name: 'worked' }),
    ]);
    using terminal = await Socket.open(daemon.url, `${typed.path}/pty`);
    const { status } = await worked.post('exec-stream', { command: 'sleep', args: ['6'] });
    expect(status).toBe(200);
    await sleep(4000);
    expect(await listSandboxes(daemon.client)).toHaveLength(2);
    terminal.ws.close();
    await until('both are suspended', async () => (await heldSnapshots(daemon)).length === 2, SOON_MS);
  });

  it('is backed by SERVICE_IDLE_TIMEOUT_SECS, which destroys what cannot be suspended', async () => {
    const daemon = await start({ SERVICE_AUTO_SUSPEND_TIMEOUT_SECS: '1', SERVICE_IDLE_TIMEOUT_SECS: '6' });
    const source = await createSandbox(daemon.client, SIZE);
    const { json } = await daemon.client.call('POST', `${source.path}/snapshot`);
    const { snapshot_id } = json as { snapshot_id: string };
    // A fork's state is its snapshot's, so it is never suspended.
    await daemon.client.call('POST', `/snapshots/${snapshot_id}/fork`);
    await sleep(3000);
    expect(await listSandboxes(daemon.client)).toHaveLength(1);
    await until('it is destroyed', async () => (await listSandboxes(daemon.client)).length === 0, SOON_MS);
    const { json: past } = await daemon.client.call('GET', '/sandboxes/history');
    expect((past as { history: { end_reason: string }[] }).history[0]?.end_reason).toBe('destroyed');
  });
});

describe('SERVICE_IDLE_TIMEOUT_SECS', () => {
  it('destroys what is idle', async () => {
    const daemon = await start({ SERVICE_IDLE_TIMEOUT_SECS: '2' });
    const sandbox = await createSandbox(daemon.client, SIZE);
    await until('it is destroyed', async () => (await listSandboxes(daemon.client)).length === 0, SOON_MS);
    expectFailure(await sandbox.post('exec', { command: 'true' }), 404, 'NOT_FOUND', sandbox.id);
  });

  it.each(['5', '10'])('has to be longer than the other one: %s is not', async (seconds) => {
    const { code, stderr } = await startRefused({
      SERVICE_AUTO_SUSPEND_TIMEOUT_SECS: '10',
      SERVICE_IDLE_TIMEOUT_SECS: seconds,
    });
    expect(code).toBeGreaterThan(0);
    expect(stderr).toContain(`SERVICE_IDLE_TIMEOUT_SECS=${seconds}`);
    expect(stderr).toContain('SERVICE_AUTO_SUSPEND_TIMEOUT_SECS');
  });
});

async function heldSnapshots({ client }: Daemon): Promise<{ id: string }[]> {
  const { json } = await client.call('GET', '/snapshots');
  return (json as { snapshots: { id: string }[] }).snapshots;
}

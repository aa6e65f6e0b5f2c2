import { readdir, readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { Daemon } from '../harness/daemon.ts';
import { kibField, openFds } from '../harness/host.ts';
import { INSPECTED, Inspector } from '../harness/inspector.ts';
import { until } from '../harness/poll.ts';
import { createSandbox } from '../harness/sandbox.ts';
import type { Sandbox } from '../harness/sandbox.ts';
import { bringUp, deleteSnapshots, takeSnapshot } from '../harness/snapshot.ts';
import { Socket } from '../harness/socket.ts';

// Of the whole: 600 is two hours of a sandbox every two minutes, each with all that is done to one here.
const SECONDS = Number(process.env.ATOLL_TEST_SOAK_SECONDS ?? 150);
const KIB = 1024;
const MIB = 1024 * KIB;

// What caches and compiled code may still grow by after a third of the time.
const HEAP_BYTES = 2 * MIB;
const RESIDENT_BYTES = 24 * MIB;

const PORT = 8000;
const PREVIEWS = 20;
const SOON_MS = 20_000;

const SIZE = { vcpu_count: 1, mem_size_mib: 256 };

/** What a daemon holds while nothing is live. */
interface Holding {
  readonly fds: number;
  readonly threads: number;
  readonly heap: number;
  readonly resident: number;
}

/** One sandbox's life, with something of every kind that is asked of one. */
async function life(daemon: Daemon): Promise<void> {
  const { client } = daemon;
  const sandbox = await createSandbox(client, { ...SIZE, name: 'one', env: { KEY: 'value' } });
  for (let at = 0; at < 5; at += 1) expect(await sandbox.sh('echo "$KEY"')).toBe('value');
  const content = new Uint8Array(MIB).fill(7);
  await client.call('PUT', `${sandbox.path}/files?path=/root/file`, content);
  expect((await client.call('GET', `${sandbox.path}/files?path=/root/file`)).text.length).toBe(MIB);
  expect((await client.call('GET', `${sandbox.path}/files?path=/root/absent`)).status).toBe(400);
  expect((await sandbox.post('exec', { command: 'no-such-program' })).status).toBe(200);
  expect((await client.call('POST', '/sandboxes', { name: 'one' })).status).toBe(409);
  await streams(daemon, sandbox);
  const snapshot = await takeSnapshot(client, sandbox.id);
  const fork = await bringUp(client, `${snapshot}/fork`);
  await fork.destroy();
  const resumed = await bringUp(client, `${snapshot}/resume`);
  expect(await resumed.sh('cat /root/file | wc -c')).toBe(String(MIB));
  await Promise.all(['/sandboxes', '/snapshots', '/metrics'].map((path) => client.call('GET', path)));
  await resumed.destroy();
  await deleteSnapshots(client);
}

/** A background command and its log, previews of the server that it is, a terminal. */
async function streams({ url, client }: Daemon, sandbox: Sandbox): Promise<void> {
  const server = { command: 'python3', args: ['-m', 'http.server', String(PORT), '--directory', '/root'] };
  const { id } = (await sandbox.post('exec-stream', server)).json as { id: string };
  using log = await Socket.open(url, `${sandbox.path}/exec-stream/${id}/logs`);
  const visit = () => client.call('GET', `${sandbox.path}/preview/${PORT}/file`);
  await until('the server is up', async () => (await visit()).status === 200, SOON_MS);
  for (let at = 0; at < PREVIEWS; at += 1) expect((await visit()).text.length).toBe(MIB);
  await log.shows('GET /file');
  using terminal = await Socket.open(url, `${sandbox.path}/pty`);
  terminal.ws.send('echo termi""nal\n');
  await terminal.shows('terminal');
}

async function holding({ pid }: Daemon, inspector: Inspector): Promise<Holding> {
  const heap = await inspector.liveHeap();
  const resident = kibField(await readFile(`/proc/${pid}/status`, 'utf8'), 'VmRSS') * KIB;
  return { fds: await openFds(pid), threads: (await readdir(`/proc/${pid}/task`)).length, heap, resident };
}

const least = (all: readonly Holding[], of: keyof Holding) => Math.min(...all.map((each) => each[of]));

it(
  'a daemon holds no more after many sandboxes than after some',
  { timeout: (SECONDS + 300) * 1000 },
  async () => {
    await using daemon = await Daemon.start({ NODE_OPTIONS: INSPECTED });
    using inspector = await Inspector.of(daemon.log.stderr);
    const held: Holding[] = [];
    for (const end = performance.now() + SECONDS * 1000; performance.now() < end || held.length < 9;) {
      await life(daemon);
      await daemon.assertClean();
      held.push(await holding(daemon, inspector));
    }
    // Caches fill and code is compiled in the first third.
    const third = Math.floor(held.length / 3);
    const [some, many] = [held.slice(third, 2 * third), held.slice(-third)];
    console.log(
      `${held.length} sandboxes: ${JSON.stringify({ first: held[0], third: some[0], last: held.at(-1) })}`,
    );
    expect(least(many, 'fds')).toBeLessThanOrEqual(least(some, 'fds'));
    expect(least(many, 'threads')).toBeLessThanOrEqual(least(some, 'threads'));
    expect(least(many, 'heap')).toBeLessThan(least(some, 'heap') + HEAP_BYTES);
    expect(least(many, 'resident')).toBeLessThan(least(some, 'resident') + RESIDENT_BYTES);
  },
);

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectFailure, expectNoContent } from '../harness/failure.ts';
import { openFds } from '../harness/host.ts';
import { until } from '../harness/poll.ts';
import type { Sandbox } from '../harness/sandbox.ts';
import { bringUp, listCheckpoints, listSnapshots, takeSnapshot } from '../harness/snapshot.ts';
import { FaultDesk, SMALL } from './desk.ts';
import { assertBooksEqualHost } from './ledger.ts';

const execute = promisify(execFile);
const SOON_MS = 30_000;
const HOUR = 3600;
const ENOUGH_FILES = 4096;

const stack = new AsyncDisposableStack();
let desk: FaultDesk;
let bin: string;
let other: Sandbox;

// Whatever is wrong with the host, this one goes on.
beforeAll(async () => {
  bin = await mkdtemp('/var/tmp/atoll-e2e-bin-');
  stack.defer(() => rm(bin, { recursive: true, force: true }));
  await chmod(bin, 0o755);
  await writeFile(join(bin, 'nft'), failingNft(), { mode: 0o755 });
  desk = stack.use(await FaultDesk.start({ PATH: `${bin}:${process.env.PATH ?? ''}` }));
  other = await desk.create();
  await other.sh('nohup sh -c "while sleep 0.1; do echo >>/root/beats; done" >/dev/null 2>&1 &');
});
afterAll(() => stack.disposeAsync());

/** As nft, until a file is there. */
function failingNft(): string {
  return `#!/bin/sh
PATH=/usr/sbin:/sbin:/usr/bin:/bin
if [ -e ${bin}/broken ]; then echo 'Error: Could not process rule: injected' >&2; exit 1; fi
exec nft "$@"
`;
}

/** The user and group that a process runs as. */
async function ownersOf(pid: number): Promise<[uid: string, gid: string]> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const of = (field: string) => new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? '';
  return [of('Uid'), of('Gid')];
}

const post = (path: string, body?: object) => desk.client.call('POST', path, body);

async function assertAllWell(): Promise<void> {
  await other.sh(
    'before=$(wc -l </root/beats); until [ $(wc -l </root/beats) -gt $before ]; do sleep 0.1; done',
  );
  const next = await desk.create({ name: 'next' });
  expect(await next.sh('echo well')).toBe('well');
  await desk.clear(other);
}

describe('nft that fails', () => {
  // Its lists are rules of its own, which nft puts in force; what has none needs it no more.
  const egress = { mode: 'deny_all', allow_cidrs: ['198.51.100.0/24'] } as const;
  const breakNft = () => writeFile(join(bin, 'broken'), '');
  const mendNft = () => rm(join(bin, 'broken'));

  it('refuses creates and resumes, saying so, and leaves nothing of them once it works again', async () => {
    const snapshot = await takeSnapshot(desk.client, (await desk.create({ name: 'web', egress })).id);
    // The sandbox ends behind the answer.
    await assertBooksEqualHost(desk.daemon);
    await breakNft();
    expectFailure(await post('/sandboxes', { ...SMALL, egress }), 500, 'BOOT_FAILED', 'injected');
    expectFailure(await post(`/snapshots/${snapshot}/resume`), 500, 'RESTORE_FAILED', 'injected');
    // The device of the one that failed still has its address.
    expectFailure(await post(`/snapshots/${snapshot}/resume`), 409, 'IDENTITY_HELD');
    await mendNft();
    const resumes = async () => (await post(`/snapshots/${snapshot}/resume`)).status === 200;
    await until('it is given back', resumes, SOON_MS);
    await assertAllWell();
  });

  it('keeps no device or address from others after a delete', async () => {
    const sandbox = await desk.create({ egress });
    await breakNft();
    expectNoContent(await sandbox.destroy());
    await mendNft();
    await assertAllWell();
  });
});

describe('a history that another process has locked', () => {
  /** Holds the lock that a write needs, until the answer is disposed of. */
  async function lock(): Promise<AsyncDisposable> {
    const script = `import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute('BEGIN IMMEDIATE')
print('locked', flush=True)
sys.stdin.read()`;
    const holder = spawn('python3', ['-c', script, join(desk.daemon.stateDir, 'history.db')]);
    await once(holder.stdout, 'data');
    return {
      [Symbol.asyncDispose]: async () => {
        const exited = once(holder, 'exit');
        holder.stdin.end();
        await exited;
      },
    };
  }

  it('refuses a create after a while, and writes the ends down when it can', async () => {
    const [first, second] = [await desk.create(), await desk.create()];
    const locked = await lock();
    expectFailure(await post('/sandboxes', SMALL), 500, 'BOOT_FAILED', 'history', 'locked');
    expectNoContent(await first.destroy());
    const snapshot = await takeSnapshot(desk.client, second.id);
    expect(await other.sh('echo well')).toBe('well');
    await locked[Symbol.asyncDispose]();
    await assertBooksEqualHost(desk.daemon);
    const { json } = await desk.client.call('GET', '/sandboxes/history?limit=10');
    const { history } = json as { history: { id: string; end_reason: string; final_snapshot_id: string }[] };
    expect(history.find(({ id }) => id === first.id)?.end_reason).toBe('destroyed');
    expect(history.find(({ id }) => id === second.id)?.final_snapshot_id).toBe(snapshot);
    await assertAllWell();
  });

  it('is waited for when that is short', async () => {
    const locked = await lock();
    const created = desk.create();
    await until(
      'its VM boots',
      async () => (await desk.daemon.client.call('GET', '/healthz')).status === 200,
      SOON_MS,
    );
    await Promise.race([created.catch(() => undefined), new Promise((resolve) => setTimeout(resolve, 500))]);
    await locked[Symbol.asyncDispose]();
    expect(await (await created).sh('echo well')).toBe('well');
    await assertAllWell();
  });
});

it('a daemon without a file descriptor left refuses, and is well again when it has some', async () => {
  const doomed = await desk.create();
  const snapshot = await takeSnapshot(desk.client, (await desk.create()).id);
  const { pid } = desk.daemon;
  // As the daemon's own user: others may not, root without CAP_SYS_RESOURCE included (prlimit(2)).
  const [uid, gid] = await ownersOf(pid);
  const limit = (files: number) =>
    execute('setpriv', [
      ...[`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'],
      ...['prlimit', `--pid=${pid}`, `--nofile=${files}:`],
    ]);
  // Room for the connections of these calls, and for less than a machine takes.
  for (const room of [0, 1, 2, 4, 6]) {
    await limit((await openFds(pid)) + room);
    const calls = [post('/sandboxes', SMALL), post(`/snapshots/${snapshot}/fork?fresh_identity=true`)];
    for (const [at, call] of (await Promise.allSettled(calls)).entries()) {
      // A connection that is not taken has no answer, and what takes less than there is room for succeeds.
      if (call.status === 'rejected' || call.value.status === 200) continue;
      expectFailure(call.value, 500, at === 0 ? 'BOOT_FAILED' : 'RESTORE_FAILED');
    }
    desk.daemon.assertRunning();
  }
  await limit((await openFds(pid)) + 1);
  await doomed.destroy().catch(() => undefined);
  desk.daemon.assertRunning();
  await limit(ENOUGH_FILES);
  await until('it answers', async () => (await desk.client.call('GET', '/healthz')).status === 200, SOON_MS);
  await assertAllWell();
});

it('a clock that jumps an hour, either way, changes what is written down and nothing else', async () => {
  const now = Math.floor(Date.now() / 1000);
  for (const seconds of [HOUR, -HOUR]) {
    const first = await desk.create();
    await desk.shiftClock(seconds);
    expect(await first.sh('echo well')).toBe('well');
    const snapshot = await takeSnapshot(desk.client, first.id);
    const resumed = await bringUp(desk.client, `${snapshot}/resume`);
    // The guest follows its host.
    expect(Math.abs(Number(await resumed.sh('date +%s')) - now - seconds)).toBeLessThan(HOUR / 2);
    const [checkpoint] = await listCheckpoints(desk.client);
    expect(Math.abs((checkpoint?.retired_at_unix ?? 0) - now - seconds)).toBeLessThan(HOUR / 2);
    await desk.shiftClock(0);
    await assertAllWell();
  }
  expect(await listSnapshots(desk.client)).toEqual([]);
});

it('a full state directory refuses creates, saying how much is missing, and takes them again', async () => {
  const dir = await mkdtemp('/var/tmp/atoll-e2e-full-');
  await using full = new AsyncDisposableStack();
  full.defer(() => rm(dir, { recursive: true, force: true }));
  await execute('mount', ['-t', 'tmpfs', '-o', 'size=700m,mode=0755', 'tmpfs', dir]);
  full.defer(() => execute('umount', [dir]).then(() => undefined));
  await desk.daemon.stop();
  const own = full.use(await FaultDesk.start({ SERVICE_STATE_DIR: join(dir, 'state') }));
  const first = await own.create();
  await execute('dd', ['if=/dev/zero', `of=${dir}/filler`, 'bs=1M']).catch(() => undefined);
  const refused = await own.client.call('POST', '/sandboxes', SMALL);
  expectFailure(refused, 503, 'INSUFFICIENT_DISK');
  // Its memory is a file: a page of it that has no room ends it. That is told, and never met as a page of zeros.
  const after = await own.client.call('POST', `${first.path}/snapshot`);
  expect(['INSUFFICIENT_DISK', 'SNAPSHOT_FAILED', 'SANDBOX_UNREACHABLE']).toContain(
    (after.json as { code: string }).code,
  );
  await rm(join(dir, 'filler'));
  await takeSnapshot(own.client, (await own.create()).id);
  await own.clear();
  await own.daemon.stop();
});

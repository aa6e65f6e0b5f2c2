import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { Daemon } from './harness/daemon.ts';
import type { Env } from './harness/daemon.ts';
import { expectFailure, expectNoContent } from './harness/failure.ts';
import { until } from './harness/poll.ts';
import { createSandbox, Sandbox } from './harness/sandbox.ts';

const execute = promisify(execFile);
const SOON_MS = 60_000;
const SIZE = { vcpu_count: 1, mem_size_mib: 128 };

interface Snapshot {
  readonly id: string;
  readonly archived_at_unix: number | null;
  readonly size_bytes: number;
}
interface Checkpoint {
  readonly id: string;
  readonly pinned: boolean;
  readonly size_bytes: number;
}

let stack = new AsyncDisposableStack();
let daemon: Daemon;
afterEach(async () => {
  for (const { id } of await snapshots()) await daemon.client.call('DELETE', `/snapshots/${id}`);
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

async function start(env: Env): Promise<void> {
  daemon = stack.use(await Daemon.start(env));
}
async function snapshots(): Promise<Snapshot[]> {
  return ((await daemon.client.call('GET', '/snapshots')).json as { snapshots: Snapshot[] }).snapshots;
}
async function history(): Promise<Checkpoint[]> {
  const { json } = await daemon.client.call('GET', '/snapshots/history');
  return (json as { checkpoints: Checkpoint[] }).checkpoints;
}
const post = (path: string, body?: unknown) => daemon.client.call('POST', path, body);

/** A held snapshot of a sandbox with something in its memory and on its disk, and the hash of both. */
async function keep(): Promise<{ id: string; hash: string }> {
  const sandbox = await createSandbox(daemon.client, SIZE);
  const hash = await sandbox.sh(
    'head -c 20000000 /dev/urandom >/root/data; head -c 5000000 /dev/urandom >/dev/shm/data; cat /root/data /dev/shm/data | sha256sum',
  );
  const { json } = await post(`${sandbox.path}/snapshot`);
  return { id: (json as { snapshot_id: string }).snapshot_id, hash };
}
async function resume(id: string): Promise<Sandbox> {
  const { status, json, text } = await post(`/snapshots/${id}/resume`);
  expect(status, text).toBe(200);
  return stack.use(new Sandbox(daemon.client, (json as { id: string }).id));
}
const isArchived = async () => (await snapshots()).every(({ archived_at_unix }) => archived_at_unix !== null);

describe('SERVICE_ARCHIVE_TIMEOUT_SECS', () => {
  it('puts a held snapshot away packed, and a resume brings it back as it was, across a restart', async () => {
    const archive = await mkdtemp('/var/tmp/atoll-archive-');
    stack.defer(() => rm(archive, { recursive: true, force: true }));
    await start({ SERVICE_ARCHIVE_TIMEOUT_SECS: '1', SERVICE_ARCHIVE_DIR: archive });
    const { id, hash } = await keep();
    const before = (await snapshots())[0]?.size_bytes ?? 0;
    await until('it is archived', isArchived, SOON_MS);
    expect(await readdir(archive)).toEqual([id]);
    expect((await readdir(join(daemon.stateDir, 'snapshots/held', id))).toSorted()).toEqual([
      'manifest.json',
    ]);
    expect((await snapshots())[0]?.size_bytes).toBeLessThan(before);

    // What is held keeps its network's rules: a clean end would find them.
    await daemon.kill();
    daemon = stack.use(await daemon.restart({ SERVICE_ARCHIVE_TIMEOUT_SECS: '' }));
    expect(await isArchived()).toBe(true);
    const sandbox = await resume(id);
    expect(await sandbox.sh('cat /root/data /dev/shm/data | sha256sum')).toBe(hash);
    expect(await readdir(archive)).toEqual([]);
  });

  it('leaves a snapshot where it is while the archive’s file system is full, and archives it when it is not', async () => {
    const archive = await mkdtemp('/var/tmp/atoll-archive-');
    stack.defer(() => rm(archive, { recursive: true, force: true }));
    await execute('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=0755', 'tmpfs', archive]);
    stack.defer(() => execute('umount', [archive]).then(() => undefined));
    await start({ SERVICE_ARCHIVE_TIMEOUT_SECS: '1', SERVICE_ARCHIVE_DIR: archive });
    const { id, hash } = await keep();
    const message = 'snapshot not archived: it stays where it is';
    await until('the archiving fails', () => daemon.log.find(message) !== undefined, SOON_MS);
    expect(String(daemon.log.find(message)?.['reason'])).toContain('ENOSPC');
    expect(await readdir(archive)).toEqual([]);
    await execute('mount', ['-o', 'remount,size=1g', archive]);
    await until('it is archived', isArchived, SOON_MS);
    expect(await readdir(archive)).toEqual([id]);
    expect(await (await resume(id)).sh('cat /root/data /dev/shm/data | sha256sum')).toBe(hash);
  });

  it('leaves a snapshot where it is while the archive cannot take it, and says why', async () => {
    // A file is where the directory would be.
    const blocked = await mkdtemp('/var/tmp/atoll-archive-');
    stack.defer(() => rm(blocked, { recursive: true, force: true }));
    await start({ SERVICE_ARCHIVE_TIMEOUT_SECS: '1', SERVICE_ARCHIVE_DIR: blocked });
    await rm(blocked, { recursive: true });
    await writeFile(blocked, '');
    const { id, hash } = await keep();
    const message = 'snapshot not archived: it stays where it is';
    await until('the archiving fails', () => daemon.log.find(message) !== undefined, SOON_MS);
    expect(daemon.log.find(message)).toMatchObject({ snapshot_id: id });
    expect(await isArchived()).toBe(false);
    expect(await (await resume(id)).sh('cat /root/data /dev/shm/data | sha256sum')).toBe(hash);
  });

  it('answers what is wrong when the archive is gone, and the snapshot stays', async () => {
    await start({ SERVICE_ARCHIVE_TIMEOUT_SECS: '1' });
    const { id } = await keep();
    await until('it is archived', isArchived, SOON_MS);
    await rm(join(daemon.stateDir, 'archive', id), { recursive: true });
    expectFailure(await post(`/snapshots/${id}/resume`), 500, 'RESTORE_FAILED', 'archive');
    expect(await snapshots()).toHaveLength(1);
    expectNoContent(await daemon.client.call('DELETE', `/snapshots/${id}`));
  });
});

describe('POST /snapshots/history/prune', () => {
  it('removes what is beyond the limits and not pinned, and says so before', async () => {
    await start({ SERVICE_HISTORY_KEEP_LAST: '1' });
    // Three checkpoints in a line.
    let { id } = await keep();
    const ids: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      ids.push(id);
      const sandbox = await resume(id);
      if (round === 2) break;
      const { json } = await post(`${sandbox.path}/snapshot`);
      id = (json as { snapshot_id: string }).snapshot_id;
    }
    expect((await history()).map((each) => each.id)).toEqual(ids);
    const [first = '', second = '', third = ''] = ids;
    const pinned = await daemon.client.call('PATCH', `/snapshots/history/${first}`, { pinned: true });
    expect(pinned.json).toMatchObject({ id: first, pinned: true });

    const dry = await post('/snapshots/history/prune', { dry_run: true });
    expect(dry.json).toMatchObject({ dry_run: true, checkpoints: [{ id: second, reason: 'keep_last' }] });
    expect(await history()).toHaveLength(3);
    const { json } = await post('/snapshots/history/prune');
    expect(json).toMatchObject({ dry_run: false, checkpoints: [{ id: second }] });
    expect((json as { bytes: number }).bytes).toBeGreaterThan(10_000_000);
    expect((await history()).map((each) => each.id)).toEqual([first, third]);
    await expect(stat(join(daemon.stateDir, 'snapshots/held', second))).rejects.toThrow('ENOENT');
    for (const each of [first, third])
      expectNoContent(await daemon.client.call('DELETE', `/snapshots/history/${each}`));
  });

  it('refuses what it does not know', async () => {
    await start({});
    const prune = await post('/snapshots/history/prune', { dry_run: 'yes' });
    expectFailure(prune, 400, 'INVALID_REQUEST', 'dry_run');
    const pin = await daemon.client.call('PATCH', '/snapshots/history/none', { pinned: true });
    expectFailure(pin, 404, 'NOT_FOUND', 'none');
  });
});

import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Daemon, FAULTY } from './harness/daemon.ts';
import { createSandbox, listSandboxes } from './harness/sandbox.ts';
import {
  bringUp,
  deleteSnapshots,
  listCheckpoints,
  listSnapshots,
  takeSnapshot,
} from './harness/snapshot.ts';

const SMALL = { mem_size_mib: 128, vcpu_count: 1 };
const SOON_MS = 20_000;

// In the order in which they are passed: lib/fault-points.ts.
const CAPTURE = ['begun', 'drafted', 'quiesced', 'paused', 'saved', 'committed'].map((at) => `capture:${at}`);
const RESTORE = ['begun', 'disk', 'filled', 'prepared', 'attached', 'loaded', 'opened', 'configured'].map(
  (at) => `restore:${at}`,
);

const stack = new AsyncDisposableStack();
let daemon: Daemon;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start({ ATOLL_DAEMON: FAULTY }));
});
afterAll(() => stack.disposeAsync());

const strike = (point: string, victim: 'daemon' | 'vm') =>
  writeFile(join(daemon.stateDir, 'fault'), `${point} ${victim}`);

/** Names of what snapshots have on disk. */
async function onDisk(): Promise<string[]> {
  const dir = join(daemon.stateDir, 'snapshots');
  return [...(await readdir(join(dir, 'held'))), ...(await readdir(join(dir, 'layers')))];
}

/** Deletes what there is, and checks that this was all. */
async function clear(): Promise<void> {
  for (const { id } of await listSandboxes(daemon.client))
    await daemon.client.call('DELETE', `/sandboxes/${id}?keep=false`);
  await deleteSnapshots(daemon.client);
  await daemon.assertClean();
  expect(await onDisk()).toEqual([]);
}

async function restart(): Promise<void> {
  await daemon.ended();
  daemon = stack.use(await daemon.restart());
}

describe('SIGKILL of the daemon', () => {
  it.each(CAPTURE)('at %s leaves a whole snapshot or nothing', { timeout: 60_000 }, async (point) => {
    const sandbox = await createSandbox(daemon.client, SMALL);
    await strike(point, 'daemon');
    await expect(takeSnapshot(daemon.client, sandbox.id)).rejects.toThrow();
    await restart();
    // Live sandboxes end with their daemon: it is one or none, never both and never a part.
    expect(await listSandboxes(daemon.client)).toEqual([]);
    const snapshots = await listSnapshots(daemon.client);
    expect(snapshots.map((each) => each.source_sandbox_id)).toEqual(
      point === 'capture:committed' ? [sandbox.id] : [],
    );
    for (const { id } of snapshots) await (await bringUp(daemon.client, `${id}/resume`)).sh('true');
    await clear();
  });

  it.each([...RESTORE, 'resume:live'])(
    'at %s leaves the snapshot as it was',
    { timeout: 60_000 },
    async (point) => {
      const sandbox = await createSandbox(daemon.client, SMALL);
      await sandbox.sh('echo mine >/root/mine');
      const id = await takeSnapshot(daemon.client, sandbox.id);
      await strike(point, 'daemon');
      await expect(bringUp(daemon.client, `${id}/resume`)).rejects.toThrow();
      await restart();
      expect(await listSandboxes(daemon.client)).toEqual([]);
      expect((await listSnapshots(daemon.client)).map((each) => each.id)).toEqual([id]);
      expect(await (await bringUp(daemon.client, `${id}/resume`)).sh('cat /root/mine')).toBe('mine');
      expect(await listCheckpoints(daemon.client)).toHaveLength(1);
      await clear();
    },
  );
});

describe('SIGKILL of the VM', () => {
  it.each(CAPTURE)('at %s leaves a whole snapshot, or a sandbox that is told lost', async (point) => {
    const sandbox = await createSandbox(daemon.client, SMALL);
    await strike(point, 'vm');
    const taken = await takeSnapshot(daemon.client, sandbox.id).catch(() => undefined);
    await expect.poll(() => listSandboxes(daemon.client), { timeout: SOON_MS }).toEqual([]);
    const snapshots = await listSnapshots(daemon.client);
    expect(snapshots.map((each) => each.id)).toEqual(taken === undefined ? [] : [taken]);
    if (taken === undefined) {
      const { status } = await sandbox.post('exec', { command: 'true' });
      expect(status).toBe(502);
    } else {
      expect(await (await bringUp(daemon.client, `${taken}/resume`)).sh('echo well')).toBe('well');
    }
    await clear();
  });

  it.each(RESTORE)('at %s leaves the snapshot as it was', async (point) => {
    const id = await takeSnapshot(daemon.client, (await createSandbox(daemon.client, SMALL)).id);
    await strike(point, 'vm');
    const first = await daemon.client.call('POST', `/snapshots/${id}/resume`);
    if (first.status === 200) {
      // It passed the point without a VM, or went live before its end was noticed.
      await expect
        .poll(() => listSandboxes(daemon.client), { timeout: SOON_MS })
        .toHaveLength(['restore:begun', 'restore:disk', 'restore:filled'].includes(point) ? 1 : 0);
      await clear();
      return;
    }
    expect(first.json).toMatchObject({ code: 'RESTORE_FAILED' });
    expect((await listSnapshots(daemon.client)).map((each) => each.id)).toEqual([id]);
    expect(await (await bringUp(daemon.client, `${id}/resume`)).sh('echo well')).toBe('well');
    await clear();
  });
});

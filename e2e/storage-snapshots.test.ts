import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Daemon } from './harness/daemon.ts';
import { createSandbox, listSandboxes } from './harness/sandbox.ts';
import { bringUp, deleteSnapshots, takeSnapshot } from './harness/snapshot.ts';
import { createDrive, listDrives, mountOf } from './storage/drives.ts';

const SIZES = { mem_size_mib: 192, vcpu_count: 1 };
let daemon: Daemon;

beforeAll(async () => {
  daemon = await Daemon.start();
});
afterAll(() => daemon[Symbol.asyncDispose]());
afterEach(async () => {
  for (const { id } of await listSandboxes(daemon.client))
    await daemon.client.call('DELETE', `/sandboxes/${id}?keep=false`);
  await deleteSnapshots(daemon.client);
});

const call = async (method: string, path: string, body?: object) => {
  const { status, json } = await daemon.client.call(method, path, body);
  return { status, ...(json as { code?: string; error?: string } | undefined) };
};
const ask = (id: string, read_only: boolean) =>
  call('POST', '/sandboxes', { ...SIZES, drives: [{ id, read_only }] });

describe('a drive that is written', () => {
  it('is held by the snapshot alone, and goes on in what is resumed from it', async () => {
    const drive = await createDrive(daemon.client, 32);
    const at = mountOf(drive);
    const writer = await createSandbox(daemon.client, { ...SIZES, drives: [{ id: drive.id }] });
    await writer.sh(
      `echo first >${at}/file; (exec 3>>${at}/file; while sleep 0.1; do echo more >&3; done) >/dev/null 2>&1 &`,
    );
    const snapshot = await takeSnapshot(daemon.client, writer.id);
    expect(await listDrives(daemon.client)).toMatchObject([
      { attached_to: [{ holder: `snapshot ${snapshot}`, read_only: false }] },
    ]);
    for (const readOnly of [true, false])
      expect(await ask(drive.id, readOnly)).toMatchObject({
        status: 409,
        code: 'DRIVE_CONFLICT',
        error: expect.stringContaining(`snapshot ${snapshot} (read-write)`) as string,
      });
    expect(await call('DELETE', `/drives/${drive.id}`)).toMatchObject({ status: 409, code: 'DRIVE_IN_USE' });
    for (const path of ['fork', 'fork?fresh_identity=true'])
      expect(await call('POST', `/snapshots/${snapshot}/${path}`)).toMatchObject({
        status: 409,
        code: 'DRIVE_CONFLICT',
      });

    // What its snapshot holds stays, so this is no end that leaves nothing.
    daemon.signal('SIGTERM');
    await daemon.ended();
    daemon = await daemon.restart();
    expect(await ask(drive.id, true)).toMatchObject({ status: 409 });
    const resumed = await bringUp(daemon.client, `${snapshot}/resume`);
    const lines = () => resumed.sh(`wc -l <${at}/file`).then(Number);
    const before = await lines();
    await expect.poll(lines).toBeGreaterThan(before);
    await resumed.destroy();
    // What the checkpoint remembers of the drive is not what is on it.
    expect(await call('POST', `/snapshots/history/${snapshot}/restore`)).toMatchObject({
      status: 409,
      code: 'SNAPSHOT_INCOMPATIBLE',
      error: expect.stringContaining(`drive ${drive.id} is written since`) as string,
    });

    const reader = await createSandbox(daemon.client, {
      ...SIZES,
      drives: [{ id: drive.id, read_only: true }],
    });
    expect(await reader.sh(`head -n 1 ${at}/file`)).toBe('first');
    expect(Number(await reader.sh(`wc -l <${at}/file`))).toBeGreaterThan(before);
    await reader.destroy();
    expect((await call('DELETE', `/drives/${drive.id}`)).status).toBe(204);
  });
});

describe('a drive that is read', () => {
  it('may be read beside its snapshot, by forks and clones as well', async () => {
    const drive = await createDrive(daemon.client, 16);
    const at = mountOf(drive);
    const writer = await createSandbox(daemon.client, { ...SIZES, drives: [{ id: drive.id }] });
    await writer.sh(`echo shared >${at}/file`);
    await writer.destroy();
    const reader = await createSandbox(daemon.client, {
      ...SIZES,
      drives: [{ id: drive.id, read_only: true }],
    });
    const snapshot = await takeSnapshot(daemon.client, reader.id);
    expect(await ask(drive.id, false)).toMatchObject({
      status: 409,
      error: expect.stringContaining(`snapshot ${snapshot} (read-only)`) as string,
    });
    expect((await ask(drive.id, true)).status).toBe(200);
    const fork = await bringUp(daemon.client, `${snapshot}/fork`);
    const clone = await bringUp(daemon.client, `${snapshot}/fork?fresh_identity=true`);
    for (const each of [fork, clone]) expect(await each.sh(`cat ${at}/file`)).toBe('shared');
    expect((await listDrives(daemon.client))[0]?.attached_to).toHaveLength(4);
    for (const each of [fork, clone]) await each.destroy();
    const resumed = await bringUp(daemon.client, `${snapshot}/resume`);
    expect(await resumed.sh(`cat ${at}/file`)).toBe('shared');
    const { json } = await daemon.client.call('GET', resumed.path);
    expect(json).toMatchObject({ drives: [{ id: drive.id, read_only: true }] });
  });

  it('is in a restored checkpoint as it was, or that is refused', async () => {
    const drive = await createDrive(daemon.client, 16);
    const drives = [{ id: drive.id, read_only: true }];
    const at = mountOf(drive);
    const reader = await createSandbox(daemon.client, { ...SIZES, drives });
    expect(await reader.sh(`ls ${at}`)).toBe('lost+found');
    const checkpoint = await takeSnapshot(daemon.client, reader.id);
    await (await bringUp(daemon.client, `${checkpoint}/resume`)).destroy();
    const restored = await bringUp(daemon.client, `history/${checkpoint}/restore`);
    expect(await restored.sh(`ls ${at}`)).toBe('lost+found');
    await restored.destroy();

    const writer = await createSandbox(daemon.client, { ...SIZES, drives: [{ id: drive.id }] });
    await writer.sh(`echo new >${at}/file`);
    await writer.destroy();
    expect(await call('POST', `/snapshots/history/${checkpoint}/restore`)).toMatchObject({
      status: 409,
      code: 'SNAPSHOT_INCOMPATIBLE',
    });
  });

  it('is free when its snapshot is gone', async () => {
    const { id } = await createDrive(daemon.client, 8);
    const reader = await createSandbox(daemon.client, { ...SIZES, drives: [{ id, read_only: true }] });
    const snapshot = await takeSnapshot(daemon.client, reader.id);
    expect(await call('DELETE', `/drives/${id}`)).toMatchObject({ status: 409 });
    expect((await call('DELETE', `/snapshots/${snapshot}`)).status).toBe(204);
    expect((await call('DELETE', `/drives/${id}`)).status).toBe(204);
  });
});

describe('an image', () => {
  it('is held by a snapshot that was booted from it, which goes on when it is resumed', async () => {
    const source = realpathSync(
      join(process.env['ATOLL_CACHE_DIR'] ?? '/var/cache/atoll', 'current/rootfs.ext4'),
    );
    expect((await call('POST', '/images', { id: 'debian', path: source })).status).toBe(200);
    const first = await createSandbox(daemon.client, { ...SIZES, image_id: 'debian' });
    await first.sh('echo kept >/root/file');
    const snapshot = await takeSnapshot(daemon.client, first.id);
    expect(await call('DELETE', '/images/debian')).toMatchObject({
      status: 409,
      code: 'IMAGE_IN_USE',
      error: expect.stringContaining(`snapshot ${snapshot}`) as string,
    });
    const resumed = await bringUp(daemon.client, `${snapshot}/resume?retain_history=false`);
    expect(await resumed.sh('cat /root/file; ls /usr/bin | wc -l')).toMatch(/^kept\n\d\d\d/);
    const { json } = await daemon.client.call('GET', resumed.path);
    expect(json).toMatchObject({ image_id: 'debian' });
    await resumed.destroy();
    expect((await call('DELETE', '/images/debian')).status).toBe(204);
  });
});

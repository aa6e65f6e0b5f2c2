import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bringUp, takeSnapshot } from './harness/snapshot.ts';
import { MountLab } from './storage/mount-lab.ts';

let lab: MountLab;
beforeAll(async () => {
  lab = await MountLab.create();
});
afterAll(() => lab[Symbol.asyncDispose]());

describe('a mount of a sandbox that becomes a snapshot', () => {
  it('goes on working after the resume, and can be cleared there', async () => {
    await lab.s3.put('data/before', Buffer.from('before'));
    const mounted = await lab.mount('/srv/kept');
    await lab.sandbox.sh('cat /srv/kept/before; echo unsynced >/srv/kept/written');
    const snapshot = await takeSnapshot(lab.daemon.client, lab.sandbox.id);
    await lab.s3.put('data/after', Buffer.from('after'));

    const resumed = await bringUp(lab.daemon.client, `${snapshot}/resume`);
    expect(await lab.list(resumed)).toEqual([mounted]);
    expect(await resumed.sh('mountpoint -q /srv/kept && cat /srv/kept/before')).toBe('before');
    await resumed.sh('echo later >/srv/kept/later');
    expect((await lab.attempt('/srv/kept', {}, resumed)).status).toBe(409);
    expect((await lab.unmount(mounted, resumed)).status).toBe(204);
    for (const [name, content] of [
      ['written', 'unsynced\n'],
      ['later', 'later\n'],
    ] as const)
      expect((await lab.s3.get(`data/${name}`)).toString()).toBe(content);
    expect(await lab.list(resumed)).toEqual([]);
    expect(await resumed.sh('grep fuse /proc/mounts || true')).toBe('');
    await resumed.destroy();
  });

  it('is in the snapshot’s fork and its restored checkpoint as well', async () => {
    const resumedFrom = await lab.again();
    const mounted = await lab.mount('/srv/kept', {}, resumedFrom);
    const snapshot = await takeSnapshot(lab.daemon.client, resumedFrom.id);
    const fork = await bringUp(lab.daemon.client, `${snapshot}/fork`);
    expect(await lab.list(fork)).toEqual([mounted]);
    expect(await fork.sh('cat /srv/kept/before')).toBe('before');
    await fork.destroy();
    await (await bringUp(lab.daemon.client, `${snapshot}/resume`)).destroy();
    const restored = await bringUp(lab.daemon.client, `history/${snapshot}/restore`);
    expect(await lab.list(restored)).toEqual([mounted]);
    expect(await restored.sh('cat /srv/kept/before')).toBe('before');
    await restored.destroy();
  });
});

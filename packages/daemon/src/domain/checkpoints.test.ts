import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fakeService } from '../testing/fake-service.ts';
import { KEEP, SIZES, codeOf, signal, snapshotDesk } from '../testing/snapshot-desk.ts';
import type { FakeService } from '../testing/snapshot-desk.ts';

let it: FakeService;
beforeEach(async () => {
  it = await fakeService({ sizes: SIZES });
});
afterEach(() => it[Symbol.asyncDispose]());

const { create, snapshot, live, held, retired, identities, devices } = snapshotDesk(() => it);

describe('history', () => {
  /** A checkpoint whose sandbox is gone. */
  async function checkpoint(): Promise<string> {
    const taken = await snapshot();
    const { id } = await it.services.restores.resume(taken, KEEP, signal);
    await it.services.sandboxes.destroy(id);
    return taken;
  }

  test('is restored again and again, one at a time, and stays', async () => {
    const taken = await checkpoint();
    for (let at = 0; at < 2; at += 1) {
      const { id, parentSnapshotId } = await it.services.restores.restore(taken, false, signal);
      expect(parentSnapshotId).toBe(taken);
      await expect(it.services.restores.restore(taken, false, signal)).rejects.toThrow(`sandbox ${id}`);
      await it.services.sandboxes.destroy(id);
    }
    expect(await retired()).toEqual([taken]);
  });

  test('names who has the identity: the sandbox that was resumed, then its snapshot', async () => {
    const taken = await snapshot();
    const { id } = await it.services.restores.resume(taken, KEEP, signal);
    await expect(it.services.restores.restore(taken, false, signal)).rejects.toThrow(`held by sandbox ${id}`);
    const next = await it.services.snapshots.take(id);
    await expect(it.services.restores.restore(taken, false, signal)).rejects.toThrow(
      `held by snapshot ${next}`,
    );
    await it.services.restores.restore(taken, true, signal);
  });

  test('names a stranger who was given the address since', async () => {
    it = await fakeService({ sizes: SIZES, addresses: 4 });
    const taken = await checkpoint();
    for (let at = 0; at < 4; at += 1) await create();
    await expect(it.services.restores.restore(taken, false, signal)).rejects.toThrow(codeOf('IDENTITY_HELD'));
    await expect(it.services.restores.restore(taken, true, signal)).rejects.toThrow(
      codeOf('NETWORK_POOL_EXHAUSTED'),
    );
  });

  test('has an identity live once, of two checkpoints that share it', async () => {
    const first = await snapshot();
    const { id } = await it.services.restores.resume(first, KEEP, signal);
    const second = await it.services.snapshots.take(id);
    const resumed = await it.services.restores.resume(second, KEEP, signal);
    await it.services.sandboxes.destroy(resumed.id);
    const both = [first, second].map((each) => it.services.restores.restore(each, false, signal));
    const outcomes = await Promise.allSettled(both);
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const refused = outcomes.find((each) => each.status === 'rejected');
    expect(refused?.reason).toMatchObject({ code: 'IDENTITY_HELD' });
    expect(live()).toHaveLength(1);
    expect([identities(), devices()]).toEqual([1, 1]);
  });

  test('branches: restore, snapshot, restore', async () => {
    const taken = await checkpoint();
    const { id } = await it.services.restores.restore(taken, false, signal);
    const branch = await it.services.snapshots.take(id);
    await it.services.snapshots.remove(branch);
    await it.services.restores.restore(taken, false, signal);
    expect(live()).toHaveLength(1);
  });

  test('a held snapshot is not in it, and a checkpoint is not held', async () => {
    const kept = await snapshot();
    const taken = await checkpoint();
    await expect(it.services.restores.restore(kept, false, signal)).rejects.toThrow('checkpoint not found');
    await expect(it.services.snapshots.removeRetired(kept)).rejects.toThrow('checkpoint not found');
    await expect(it.services.restores.fork(taken, false, signal)).rejects.toThrow('snapshot not found');
    await expect(it.services.snapshots.remove(taken)).rejects.toThrow('snapshot not found');
    await it.services.snapshots.removeRetired(taken);
    expect(await retired()).toEqual([]);
  });
});

describe('network devices', () => {
  const addressOf = (id: string) => it.registry.live(id, 'be looked at').running.lease.address;

  test('are for those who live: any number of snapshots is held beside', async () => {
    it = await fakeService({ sizes: SIZES, devices: 2 });
    const stopped = [];
    for (let at = 0; at < 3; at += 1) {
      const { id } = await create();
      stopped.push({ address: addressOf(id), taken: await it.services.snapshots.take(id) });
    }
    await expect.poll(() => [identities(), devices()]).toEqual([3, 0]);
    const [one, two] = [await create(), await create()];
    expect(stopped.map(({ address }) => address)).not.toContain(addressOf(one.id));
    for (const { taken } of stopped)
      await expect(it.services.restores.resume(taken, KEEP, signal)).rejects.toThrow(
        codeOf('NETWORK_POOL_EXHAUSTED'),
      );
    expect((await held()).toSorted()).toEqual(stopped.map(({ taken }) => taken).toSorted());
    expect([identities(), devices()]).toEqual([5, 2]);
    await it.services.sandboxes.destroy(two.id);
    const [{ address, taken } = { address: '', taken: '' }] = stopped;
    const { id } = await it.services.restores.resume(taken, KEEP, signal);
    expect(addressOf(id)).toBe(address);
  });

  test('serve as many clones of a held snapshot as there are of them', async () => {
    const request = { count: 4, name_prefix: undefined, tags: undefined };
    const clones = await it.services.restores.clone(await snapshot(), request, signal);
    expect(clones.filter((clone) => 'code' in clone)).toEqual([]);
    expect([identities(), devices()]).toEqual([5, 4]);
  });

  test('are of no use when every address is held', async () => {
    it = await fakeService({ sizes: SIZES, addresses: 2 });
    for (let at = 0; at < 2; at += 1) await snapshot();
    await expect(create()).rejects.toThrow('all 2 network addresses are in use: delete a snapshot');
    await expect(create()).rejects.toThrow(codeOf('NETWORK_POOL_EXHAUSTED'));
    expect(devices()).toBe(0);
  });
});

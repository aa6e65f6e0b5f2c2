import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fakeService } from '../testing/fake-service.ts';
import { ALL, KEEP, SIZES, codeOf, signal, snapshotDesk } from '../testing/snapshot-desk.ts';
import type { FakeService } from '../testing/snapshot-desk.ts';

let it: FakeService;
beforeEach(async () => {
  it = await fakeService({ sizes: SIZES });
});
afterEach(() => it[Symbol.asyncDispose]());

const { snapshot, held } = snapshotDesk(() => it);

describe('safety', () => {
  test.each(['monitor', 'accelerator', 'cpu', 'kernel'])(
    'another %s is refused, and the snapshot stays',
    async (part) => {
      const taken = await snapshot();
      const { profile } = it.fakes.vmm;
      it.fakes.vmm.profile = { ...profile, [part]: 'kvm' };
      const refusal = it.services.restores.resume(taken, KEEP, signal);
      await expect(refusal).rejects.toThrow(codeOf('SNAPSHOT_INCOMPATIBLE'));
      await expect(refusal).rejects.toThrow(/is kvm, and it was taken with /);
      it.fakes.vmm.profile = profile;
      await it.services.restores.resume(taken, KEEP, signal);
    },
  );

  test('a file that is missing is refused', async () => {
    const taken = await snapshot();
    const [listed] = await it.services.snapshots.listHeld(ALL);
    await rm(listed?.snapshot.state ?? '');
    await expect(it.services.restores.fork(taken, false, signal)).rejects.toThrow(
      codeOf('SNAPSHOT_INCOMPATIBLE'),
    );
    expect(await held()).toEqual([taken]);
  });

  test('the next start finds names, leases and history again', async () => {
    const gone = await snapshot();
    await it.services.restores.resume(gone, KEEP, signal);
    const kept = await snapshot({ name: 'web' });
    const [{ snapshot: found } = {}] = await it.services.snapshots.listHeld(ALL);
    const address = found?.record.identity.address;
    await it.services.sandboxes.shutdown();
    await using next = await fakeService({ sizes: SIZES, storage: it.fakes.storage });
    expect((await next.services.snapshots.listHeld(ALL)).map((each) => each.snapshot.record.id)).toEqual([
      kept,
    ]);
    expect(await next.services.snapshots.listRetired(ALL)).toHaveLength(1);
    await expect(next.services.sandboxes.create({ name: 'web' }, signal)).rejects.toThrow(
      codeOf('NAME_TAKEN'),
    );
    const others = [];
    for (let at = 0; at < 4; at += 1) others.push(await next.services.sandboxes.create({}, signal));
    const addresses = others.map(({ id }) => next.registry.live(id, 'be looked at').running.lease.address);
    const recorded = [address, await addressOfCheckpoint(next, gone)];
    expect(addresses.filter((each) => recorded.includes(each))).toEqual([]);
    await expect(next.services.sandboxes.create({}, signal)).rejects.toThrow(
      codeOf('NETWORK_POOL_EXHAUSTED'),
    );
    await next.services.sandboxes.destroy(others[0]?.id ?? '');
    const { id } = await next.services.restores.resume(kept, KEEP, signal);
    expect(next.registry.live(id, 'be looked at').running.lease.address).toBe(address);
  });
});

async function addressOfCheckpoint({ services }: FakeService, id: string): Promise<string | undefined> {
  const all = await services.snapshots.listRetired(ALL);
  return all.find(({ snapshot }) => snapshot.record.id === id)?.snapshot.record.identity.address;
}

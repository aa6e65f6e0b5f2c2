import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { NoSpace } from '../ports/snapshots.ts';
import { fakeService } from '../testing/fake-service.ts';
import { ALL, KEEP, SIZES, codeOf, signal, snapshotDesk } from '../testing/snapshot-desk.ts';
import type { FakeService } from '../testing/snapshot-desk.ts';

let it: FakeService;
beforeEach(async () => {
  it = await fakeService({ sizes: SIZES });
});
afterEach(() => it[Symbol.asyncDispose]());

const { create, snapshot, stop, live, held, retired, identities, devices } = snapshotDesk(() => it);

describe('taking', () => {
  test('a sandbox becomes a snapshot with all it was, and is gone', async () => {
    const egress = { mode: 'deny_all' as const, allow_cidrs: ['198.51.100.0/24'], deny_cidrs: undefined };
    const { id } = await create({ name: 'web', tags: { team: 'a' }, egress });
    const taken = await it.services.snapshots.take('web');
    expect(live()).toEqual([]);
    await expect.poll(() => it.fakes.storage.listMachines()).toEqual([]);
    expect([...it.fakes.vmm.machines]).toEqual([]);
    const [listed] = await it.services.snapshots.listHeld(ALL);
    expect(listed?.snapshot.record).toMatchObject({
      id: taken,
      sourceSandboxId: id,
      parentSnapshotId: undefined,
      name: 'web',
      tags: { team: 'a' },
      egress: { mode: 'deny_all', allowCidrs: ['198.51.100.0/24'] },
    });
    expect(listed).toMatchObject({ forkedInto: undefined });
    expect(listed?.sizeBytes).toBeGreaterThan(0);
    await expect(it.services.snapshots.take('web')).rejects.toThrow(codeOf('NOT_FOUND'));
  });

  test('its name and its network identity stay taken, and no device', async () => {
    const taken = await snapshot({ name: 'web' });
    await expect(create({ name: 'web' })).rejects.toThrow(`held by snapshot ${taken}`);
    await expect.poll(() => [identities(), devices()]).toEqual([1, 0]);
    await it.services.snapshots.remove(taken);
    expect(identities()).toBe(0);
    await create({ name: 'web' });
  });

  test('is answered while the machine still ends, and what needs its identity or its device waits for that', async () => {
    it = await fakeService({ sizes: SIZES, devices: 1 });
    const ends = () => {
      const [machine] = it.fakes.vmm.machines.values();
      if (machine === undefined) throw new Error('no machine');
      const { promise, resolve } = Promise.withResolvers<undefined>();
      const stop = machine.stop.bind(machine);
      vi.spyOn(machine, 'stop').mockImplementation(() => promise.then(stop));
      return () => resolve(undefined);
    };
    const { id } = await create({ name: 'web' });
    let end = ends();
    const taken = await it.services.snapshots.take(id);
    expect(devices()).toBe(1);
    expect(await it.services.snapshots.listHeld(ALL)).toMatchObject([{ forkedInto: undefined }]);
    await expect(create({ name: 'web' })).rejects.toThrow(`held by snapshot ${taken}`);
    const resumed = it.services.restores.resume(taken, KEEP, signal);
    setTimeout(end, 20);
    const { id: next } = await resumed;
    expect(live()).toEqual([next]);

    end = ends();
    await it.services.snapshots.take('web');
    expect(devices()).toBe(1);
    setTimeout(end, 20);
    const other = await create();
    expect(live()).toEqual([other.id]);
  });

  test('stopping keeps; a sandbox whose VM ended is only dismissed', async () => {
    expect(await stop((await create()).id)).toEqual((await held())[0]);
    const { id } = await create();
    [...it.fakes.vmm.machines.values()][0]?.crash('its guest shut down');
    await expect.poll(() => live()).toEqual([]);
    expect(await stop(id)).toBeUndefined();
    expect(await held()).toHaveLength(1);
  });

  test('when the disk is full the sandbox goes on, and the bytes are told', async () => {
    const { id } = await create();
    vi.spyOn(it.fakes.snapshots, 'draft').mockRejectedValueOnce(new NoSpace('/s', 2048, 1024));
    await expect(it.services.snapshots.take(id)).rejects.toThrow(
      '2048 bytes are needed, 1024 bytes are free',
    );
    expect(live()).toEqual([id]);
    const full = Object.assign(new Error('write'), { code: 'ENOSPC' });
    const [machine] = it.fakes.vmm.machines.values();
    if (machine === undefined) throw new Error('no machine');
    vi.spyOn(machine, 'save').mockRejectedValueOnce(full);
    await expect(it.services.snapshots.take(id)).rejects.toThrow(codeOf('INSUFFICIENT_DISK'));
    expect(live()).toEqual([id]);
    expect(machine.paused).toBe(false);
    await it.services.snapshots.take(id);
  });
});

describe('resume', () => {
  test('consumes: the second is not found, and the first is in history', async () => {
    const { id: source } = await create({ name: 'web', tags: { a: 'b' } });
    const taken = await it.services.snapshots.take(source);
    const sandbox = await it.services.restores.resume(taken, KEEP, signal);
    expect(sandbox).toMatchObject({ name: 'web', tags: { a: 'b' }, parentSnapshotId: taken });
    expect(live()).toEqual([sandbox.id]);
    expect(await held()).toEqual([]);
    expect(await retired()).toEqual([taken]);
    expect(identities()).toBe(1);
    await expect(it.services.restores.resume(taken, KEEP, signal)).rejects.toThrow(codeOf('NOT_FOUND'));
    await it.services.sandboxes.destroy('web');
    expect(identities()).toBe(0);
  });

  test('of two at once one succeeds', async () => {
    const taken = await snapshot();
    const both = [1, 2].map(() => it.services.restores.resume(taken, KEEP, signal));
    const outcomes = (await Promise.allSettled(both)).map(({ status }) => status);
    expect(outcomes).toEqual(['fulfilled', 'rejected']);
  });

  test('without history leaves nothing of the snapshot', async () => {
    const taken = await snapshot();
    await it.services.restores.resume(taken, { retain: false, fresh: false }, signal);
    expect([...(await held()), ...(await retired())]).toEqual([]);
    await expect(it.services.snapshots.removeRetired(taken)).rejects.toThrow(codeOf('NOT_FOUND'));
  });

  test('tells the guest the time and gives it randomness, and leaves its names alone', async () => {
    const taken = await snapshot({ name: 'web' });
    await it.services.restores.resume(taken, KEEP, signal);
    const { identity } = [...it.fakes.agent.sessions.values()].at(-1) ?? {};
    expect(Object.keys(identity ?? {}).toSorted()).toEqual(['clockUnixNs', 'entropy']);
  });

  test('with a fresh identity has another network identity and new names, and frees the old one', async () => {
    const taken = await snapshot({ name: 'web' });
    const [before] = await it.services.snapshots.listHeld(ALL);
    const { id } = await it.services.restores.resume(taken, { retain: true, fresh: true }, signal);
    const { lease } = it.registry.live(id, 'be looked at').running;
    expect(lease.address).not.toBe(before?.snapshot.record.identity.address);
    expect(identities()).toBe(1);
    const { identity } = [...it.fakes.agent.sessions.values()].at(-1) ?? {};
    expect(identity).toMatchObject({ hostname: 'web', machineId: id.replaceAll('-', ''), network: lease });
  });

  test('can be snapshotted again; lineage is told', async () => {
    const first = await snapshot();
    const { id } = await it.services.restores.resume(first, KEEP, signal);
    const second = await it.services.snapshots.take(id);
    const query = { sourceSandboxId: undefined, parentSnapshotId: first };
    expect((await it.services.snapshots.listHeld(query)).map((each) => each.snapshot.record.id)).toEqual([
      second,
    ]);
    const bySource = { sourceSandboxId: id, parentSnapshotId: undefined };
    expect(await it.services.snapshots.listHeld(bySource)).toHaveLength(1);
    expect(await it.services.snapshots.listRetired(bySource)).toEqual([]);
  });

  test('that fails leaves the snapshot as it was, and nothing else', async () => {
    const taken = await snapshot({ name: 'web' });
    vi.spyOn(it.fakes.agent, 'attach').mockRejectedValueOnce(new Error('no answer'));
    await expect(it.services.restores.resume(taken, KEEP, signal)).rejects.toThrow(codeOf('RESTORE_FAILED'));
    expect(await held()).toEqual([taken]);
    expect([...live(), ...(await it.fakes.storage.listMachines())]).toEqual([]);
    expect(identities()).toBe(1);
    await it.services.restores.resume(taken, KEEP, signal);
  });
});

describe('fork', () => {
  test('keeps the snapshot; another, a resume and a deletion wait for its end', async () => {
    const taken = await snapshot({ name: 'web' });
    const { id } = await it.services.restores.fork(taken, false, signal);
    expect((await it.services.snapshots.listHeld(ALL))[0]?.forkedInto).toBe(id);
    const refused = expect.objectContaining({
      code: 'SNAPSHOT_FORKED',
      message: expect.stringContaining(id) as string,
    }) as Error;
    await expect(it.services.restores.fork(taken, false, signal)).rejects.toThrow(refused);
    await expect(it.services.restores.resume(taken, KEEP, signal)).rejects.toThrow(refused);
    await expect(it.services.snapshots.remove(taken)).rejects.toThrow(refused);
    await it.services.sandboxes.destroy(id);
    expect((await it.services.snapshots.listHeld(ALL))[0]?.forkedInto).toBeUndefined();
    await it.services.restores.fork(taken, false, signal);
  });

  test('is not kept when it is stopped, and not snapshotted', async () => {
    const taken = await snapshot();
    const { id } = await it.services.restores.fork(taken, false, signal);
    await expect(it.services.snapshots.take(id)).rejects.toThrow(codeOf('FORK_NOT_SNAPSHOTTABLE'));
    expect(await stop(id)).toBeUndefined();
    expect(await held()).toEqual([taken]);
    expect(identities()).toBe(1);
  });

  test('with a fresh identity may be one of several, beside a resume', async () => {
    const taken = await snapshot({ name: 'web' });
    const forks = [];
    for (let at = 0; at < 2; at += 1) forks.push(await it.services.restores.fork(taken, true, signal));
    expect(forks.map(({ name }) => name)).toEqual([undefined, undefined]);
    const resumed = await it.services.restores.resume(taken, KEEP, signal);
    expect(live()).toHaveLength(3);
    expect(resumed.name).toBe('web');
  });
});

describe('clones', () => {
  test('each has an identity of its own; the snapshot stays', async () => {
    const taken = await snapshot({ name: 'web', tags: { a: 'b' } });
    const clones = await it.services.restores.clone(
      taken,
      { count: 3, name_prefix: 'c', tags: undefined },
      signal,
    );
    expect(clones.map((clone) => 'name' in clone && clone.name)).toEqual(['c-1', 'c-2', 'c-3']);
    const leases = live().map((id) => it.registry.live(id, 'be looked at').running.lease.address);
    expect(new Set(leases).size).toBe(3);
    expect(await held()).toEqual([taken]);
    await it.services.snapshots.remove(taken);
    expect(live()).toHaveLength(3);
    const kept = await it.services.snapshots.take('c-1');
    expect((await it.services.restores.resume(kept, KEEP, signal)).name).toBe('c-1');
  });

  test('what cannot be had is told for each', async () => {
    const taken = await snapshot();
    const request = { count: 5, name_prefix: undefined, tags: undefined };
    const clones = await it.services.restores.clone(taken, request, signal);
    expect(clones.filter((clone) => 'code' in clone).map((clone) => 'code' in clone && clone.code)).toEqual([
      'NETWORK_POOL_EXHAUSTED',
    ]);
    expect(live()).toHaveLength(4);
  });

  test('of nothing are not found', async () => {
    const request = { count: 1, name_prefix: undefined, tags: undefined };
    await expect(it.services.restores.clone(randomUUID(), request, signal)).rejects.toThrow(
      codeOf('NOT_FOUND'),
    );
  });
});

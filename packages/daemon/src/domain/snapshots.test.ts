import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type { CreateSandbox } from '@atoll/contract/sandboxes';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { FAULT_POINTS } from '../lib/fault-points.ts';
import { fakeService } from '../testing/fake-service.ts';
import { NoSpace } from '../ports/snapshots.ts';

const SIZES = { vcpuCount: 1, maxVcpuCount: 4, memSizeMib: 64, maxMemSizeMib: 64 };
const ALL = { sourceSandboxId: undefined, parentSnapshotId: undefined };
const KEEP = { retain: true, fresh: false };
const { signal } = new AbortController();

type Service = Awaited<ReturnType<typeof fakeService>>;
let it: Service;

beforeEach(async () => {
  it = await fakeService({ sizes: SIZES });
});
afterEach(() => it[Symbol.asyncDispose]());

const codeOf = (code: string) => expect.objectContaining({ code }) as Error;
const create = (request: CreateSandbox = {}) => it.services.sandboxes.create(request, signal);
const live = () => it.services.sandboxes.list([]).map(({ id }) => id);
const held = async () =>
  (await it.services.snapshots.listHeld(ALL)).map(({ snapshot }) => snapshot.record.id);
const retired = async () =>
  (await it.services.snapshots.listRetired(ALL)).map(({ snapshot }) => snapshot.record.id);
const stop = (id: string) => it.services.snapshots.stop(id, (each) => it.services.sandboxes.destroy(each));

/** A held snapshot of a fresh sandbox. */
async function snapshot(request: CreateSandbox = {}): Promise<string> {
  return it.services.snapshots.take((await create(request)).id);
}

/** How many leases are held. */
const leased = () => it.fakes.network.policies.size;

describe('taking', () => {
  test('a sandbox becomes a snapshot with all it was, and is gone', async () => {
    const egress = { mode: 'deny_all' as const, allow_cidrs: ['198.51.100.0/24'], deny_cidrs: undefined };
    const { id } = await create({ name: 'web', tags: { team: 'a' }, egress });
    const taken = await it.services.snapshots.take('web');
    expect(live()).toEqual([]);
    expect([...it.fakes.vmm.machines]).toEqual([]);
    expect(await it.fakes.storage.listMachines()).toEqual([]);
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

  test('its name and its lease with its policy stay taken', async () => {
    const taken = await snapshot({ name: 'web' });
    await expect(create({ name: 'web' })).rejects.toThrow(`held by snapshot ${taken}`);
    expect(leased()).toBe(1);
    await it.services.snapshots.remove(taken);
    expect(leased()).toBe(0);
    await create({ name: 'web' });
  });

  test('stopping keeps; a sandbox whose VM ended is only dismissed', async () => {
    expect(await stop((await create()).id)).toEqual((await held())[0]);
    const { id } = await create();
    [...it.fakes.vmm.machines.values()][0]?.crash('its guest shut down');
    await vi.waitFor(() => expect(live()).toEqual([]));
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
    expect(leased()).toBe(1);
    await expect(it.services.restores.resume(taken, KEEP, signal)).rejects.toThrow(codeOf('NOT_FOUND'));
    await it.services.sandboxes.destroy('web');
    expect(leased()).toBe(0);
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

  test('with a fresh identity has another lease and new names, and frees the old lease', async () => {
    const taken = await snapshot({ name: 'web' });
    const [before] = await it.services.snapshots.listHeld(ALL);
    const { id } = await it.services.restores.resume(taken, { retain: true, fresh: true }, signal);
    const { lease } = it.registry.live(id, 'be looked at').running;
    expect(lease.address).not.toBe(before?.snapshot.record.lease.address);
    expect(leased()).toBe(1);
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
    vi.spyOn(it.fakes.agent, 'connect').mockRejectedValueOnce(new Error('no answer'));
    await expect(it.services.restores.resume(taken, KEEP, signal)).rejects.toThrow(codeOf('RESTORE_FAILED'));
    expect(await held()).toEqual([taken]);
    expect([...live(), ...(await it.fakes.storage.listMachines())]).toEqual([]);
    expect(leased()).toBe(1);
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
    expect(leased()).toBe(1);
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
    const taken = await checkpoint();
    const all = [];
    for (let at = 0; at < 4; at += 1) all.push(await create());
    await expect(it.services.restores.restore(taken, false, signal)).rejects.toThrow(codeOf('IDENTITY_HELD'));
    await expect(it.services.restores.restore(taken, true, signal)).rejects.toThrow(
      codeOf('NETWORK_POOL_EXHAUSTED'),
    );
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
      'NETWORK_POOL_EXHAUSTED',
    ]);
    expect(live()).toHaveLength(3);
  });

  test('of nothing are not found', async () => {
    const request = { count: 1, name_prefix: undefined, tags: undefined };
    await expect(it.services.restores.clone(randomUUID(), request, signal)).rejects.toThrow(
      codeOf('NOT_FOUND'),
    );
  });
});

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
    for (let at = 0; at < 3; at += 1) others.push(await next.services.sandboxes.create({}, signal));
    await expect(next.services.sandboxes.create({}, signal)).rejects.toThrow(
      codeOf('NETWORK_POOL_EXHAUSTED'),
    );
    await next.services.restores.resume(kept, KEEP, signal);
  });
});

describe('a failure', () => {
  const capturing = FAULT_POINTS.filter(
    (point) => point.startsWith('capture:') && point !== 'capture:committed',
  );
  test.each(capturing)('at %s leaves the sandbox, live, and no snapshot', async (point) => {
    const { id } = await create({ name: 'web' });
    it.faults.at = failAt(point);
    await expect(it.services.snapshots.take(id)).rejects.toThrow(codeOf('SNAPSHOT_FAILED'));
    it.faults.at = () => undefined;
    expect(live()).toEqual([id]);
    expect(await held()).toEqual([]);
    expect((await it.fakes.snapshots.recover()).halfMade).toEqual([]);
    expect([...it.fakes.vmm.machines.values()].map(({ paused }) => paused)).toEqual([false]);
    await it.services.guests.reach(id, (agent) => agent.health(signal));
    await it.services.snapshots.take(id);
  });

  test.each(capturing)('of the VM at %s leaves nothing that claims to be there', async (point) => {
    const { id } = await create({ name: 'web' });
    it.faults.at = (at) => {
      if (at === point) [...it.fakes.vmm.machines.values()][0]?.crash('its VM ended (signal SIGKILL)');
    };
    const outcome = await it.services.snapshots.take(id).then(
      () => 'snapshot',
      () => 'lost',
    );
    await vi.waitFor(() => expect(live()).toEqual([]));
    expect(await held()).toHaveLength(outcome === 'snapshot' ? 1 : 0);
    await vi.waitFor(async () => expect(await it.fakes.storage.listMachines()).toEqual([]));
    await vi.waitFor(() => expect(leased()).toBe(outcome === 'snapshot' ? 1 : 0));
  });

  const restoring = FAULT_POINTS.filter((point) => !point.startsWith('capture:'));
  test.each(restoring)('at %s leaves the snapshot, and no sandbox', async (point) => {
    const taken = await snapshot({ name: 'web' });
    it.faults.at = failAt(point);
    await expect(it.services.restores.resume(taken, KEEP, signal)).rejects.toThrow('injected');
    it.faults.at = () => undefined;
    expect(await held()).toEqual([taken]);
    expect([...live(), ...(await it.fakes.storage.listMachines()), ...it.fakes.vmm.machines.keys()]).toEqual(
      [],
    );
    expect(leased()).toBe(1);
    await it.services.restores.resume(taken, KEEP, signal);
  });
});

function failAt(point: string): (at: string) => void {
  return (at) => {
    if (at === point) throw new Error('injected');
  };
}

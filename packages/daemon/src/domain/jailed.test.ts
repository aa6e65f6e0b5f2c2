import { afterEach, beforeEach, expect, test } from 'vitest';
import { fakeService } from '../testing/fake-service.ts';
import { idleCandidates } from './idle.ts';
import { Activity } from './activity.ts';

const SIZES = { vcpuCount: 1, maxVcpuCount: 4, memSizeMib: 64, maxMemSizeMib: 256 };
const { signal } = new AbortController();

let it: Awaited<ReturnType<typeof fakeService>>;
beforeEach(async () => {
  it = await fakeService({ sizes: SIZES, jailed: true });
});
afterEach(() => it[Symbol.asyncDispose]());

test('a jailed sandbox says so, and is not snapshotted', async () => {
  const { sandboxes, snapshots } = it.services;
  const sandbox = await sandboxes.create({}, signal);
  expect(sandbox.jailed).toBe(true);
  await expect(snapshots.take(sandbox.id)).rejects.toMatchObject({
    code: 'JAILED_NOT_SNAPSHOTTABLE',
    status: 400,
  });
  expect(sandboxes.list([])).toHaveLength(1);
});

test('a stop that would keep it destroys it', async () => {
  const { sandboxes, snapshots } = it.services;
  const { id } = await sandboxes.create({}, signal);
  expect(await snapshots.stop(id, (each) => sandboxes.destroy(each))).toBeUndefined();
  expect(sandboxes.list([])).toEqual([]);
  expect(await snapshots.listHeld({ sourceSandboxId: id, parentSnapshotId: undefined })).toEqual([]);
  expect(sandboxes.past({ liveOnly: false, limit: 1 })).toMatchObject([{ end: { reason: 'destroyed' } }]);
});

test('an idle one lives on until it is destroyed for that', async () => {
  await it.services.sandboxes.create({}, signal);
  expect(idleCandidates(it.registry, new Activity())).toMatchObject([{ canSuspend: false }]);
});

test('a pool to be kept warm is refused, a pool that only counts is not', async () => {
  const { pools, sandboxes } = it.services;
  await expect(pools.create({ id: 'warm', warm_count: 1 })).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
    message: expect.stringContaining('warm_count: takes 0 while SERVICE_JAILER_ENABLED is on') as string,
  });
  const pool = await pools.create({ id: 'counts', warm_count: 0, max_count: 1 });
  await sandboxes.create({}, signal);
  expect(pool.claimed).toBe(1);
});

test('what comes out of a snapshot taken without jails is jailed, and maps a copy of the memory', async () => {
  await using before = await fakeService({ sizes: SIZES });
  const { id } = await before.services.sandboxes.create({}, signal);
  const snapshot = await before.services.snapshots.take(id);
  // The same service, as its next run would be with the jail on.
  Object.assign(before.fakes.vmm, { jailed: true });
  const fork = await before.services.restores.fork(snapshot, false, signal);
  expect(fork.jailed).toBe(true);
  expect(before.registry.live(fork.id, 'be shown').running.sharesMemory).toBe(false);
});

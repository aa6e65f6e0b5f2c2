import { expect, test } from 'vitest';
import { FakeHost } from '../testing/fake-host.ts';
import { FakeStorage } from '../testing/fake-storage.ts';
import { fakeService } from '../testing/fake-service.ts';
import { Admission } from './admission.ts';

const MIB = 1024 * 1024;
const SMALL = { vcpuCount: 1, memSizeMib: 100 };

async function admission() {
  const host = new FakeHost();
  const storage = await FakeStorage.open();
  return {
    host,
    storage,
    it: new Admission(host, storage),
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  };
}

test('of many starts at once as many are let in as the host can carry, and not one more', async () => {
  await using lab = await admission();
  lab.host.memoryBytes = 1050 * MIB;
  const starts = await Promise.allSettled(Array.from({ length: 20 }, () => lab.it.take(SMALL)));
  const refused = starts.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(10);
  expect(refused[0]).toMatchObject({
    reason: {
      code: 'INSUFFICIENT_MEMORY',
      message: 'not enough host memory: the sandbox needs 100 MiB, 50 MiB can be had',
    },
  });
});

test('a start that is over leaves its room to the next', async () => {
  await using lab = await admission();
  lab.host.memoryBytes = 150 * MIB;
  {
    using _room = await lab.it.take(SMALL);
    await expect(lab.it.take(SMALL)).rejects.toMatchObject({ code: 'INSUFFICIENT_MEMORY' });
  }
  using _room = await lab.it.take(SMALL);
});

test('disk counts with what those under way will write', async () => {
  await using lab = await admission();
  lab.storage.freeBytes = () => Promise.resolve(1000 * MIB);
  using _room = await lab.it.take(SMALL, 600 * MIB);
  await expect(lab.it.take(SMALL, 500 * MIB)).rejects.toMatchObject({
    code: 'INSUFFICIENT_DISK',
    status: 503,
    message: expect.stringContaining(`${500 * MIB} bytes are needed, ${400 * MIB} bytes are free`) as string,
  });
  // What any start takes at least.
  using _least = await lab.it.take(SMALL);
});

test('so do processes, by the number of processors', async () => {
  await using lab = await admission();
  lab.host.processes = 60;
  using _room = await lab.it.take(SMALL);
  await expect(lab.it.take({ vcpuCount: 16, memSizeMib: 100 })).rejects.toMatchObject({
    code: 'INSUFFICIENT_PROCESSES',
    status: 503,
    message: expect.stringContaining('needs 40, 35 can be had') as string,
  });
});

test('a create and a fork are refused before anything of them is there, and go through once there is room', async () => {
  const sizes = { vcpuCount: 1, maxVcpuCount: 4, memSizeMib: 64, maxMemSizeMib: 256 };
  await using it = await fakeService({ sizes });
  const { signal } = new AbortController();
  const { sandboxes, snapshots, restores } = it.services;
  const { id } = await sandboxes.create({}, signal);
  const snapshot = await snapshots.take(id);
  it.fakes.host.processes = 1;
  const refused = { code: 'INSUFFICIENT_PROCESSES' };
  await expect(sandboxes.create({}, signal)).rejects.toMatchObject(refused);
  await expect(restores.fork(snapshot, false, signal)).rejects.toMatchObject(refused);
  await expect(restores.resume(snapshot, { retain: true, fresh: false }, signal)).rejects.toMatchObject(
    refused,
  );
  expect(await restores.clone(snapshot, { count: 1 }, signal)).toMatchObject([refused]);
  expect(await it.fakes.storage.listMachines()).toEqual([]);
  it.fakes.host.processes = 1000;
  await restores.fork(snapshot, false, signal);
});

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Daemon } from './harness/daemon.ts';
import type { Sandbox } from './harness/sandbox.ts';
import { listSandboxes } from './harness/sandbox.ts';
import { bringUp, deleteSnapshots, makeClones, takeSnapshot } from './harness/snapshot.ts';
import { createDrive, deviceOf } from './storage/drives.ts';
import {
  createMeasured,
  diskRate,
  expectRate,
  measure,
  SERVER,
  startMeasured,
} from './storage/throughput.ts';

const RATE = 10_000_000;
const OPS = 100;

const stack = new AsyncDisposableStack();
let daemon: Daemon;

beforeAll(async () => {
  daemon = stack.use(await startMeasured(stack));
});
afterEach(async () => {
  for (const { id } of await listSandboxes(daemon.client))
    await daemon.client.call('DELETE', `/sandboxes/${id}?keep=false`);
  await deleteSnapshots(daemon.client);
});
afterAll(() => stack.disposeAsync());

async function expectLimited(sandbox: Sandbox): Promise<void> {
  await expectRate(RATE, () => diskRate(sandbox, 'if=/dev/zero of=/written oflag=direct', 30));
  await expectRate(RATE, () => measure(sandbox, 'get', SERVER, String(2 * RATE)));
  await expectRate(RATE, () => measure(sandbox, 'put', SERVER, String(2 * RATE)));
  const { json } = await daemon.client.call('GET', sandbox.path);
  expect(json).toMatchObject({ rate_limit: { bandwidth_bytes_per_sec: RATE } });
}

describe('a bandwidth', () => {
  it('holds after a resume, and for a fork and a clone', async () => {
    const limit = { bandwidth_bytes_per_sec: RATE };
    const first = await createMeasured(daemon, { rate_limit: limit });
    const resumed = await bringUp(daemon.client, `${await takeSnapshot(daemon.client, first.id)}/resume`);
    await expectLimited(resumed);
    const snapshot = await takeSnapshot(daemon.client, resumed.id);
    const fork = await bringUp(daemon.client, `${snapshot}/fork`);
    await expectLimited(fork);
    await fork.destroy();
    const clone = await bringUp(daemon.client, `${snapshot}/fork?fresh_identity=true`);
    await expectLimited(clone);
    await clone.destroy();
  });
});

describe('clones', () => {
  it('have the limit each, whatever the others use of theirs', async () => {
    const first = await createMeasured(daemon, { rate_limit: { bandwidth_bytes_per_sec: RATE } });
    const snapshot = await takeSnapshot(daemon.client, first.id);
    const clones = await makeClones(daemon.client, snapshot, { count: 2 });
    expect(clones).toHaveLength(2);
    await Promise.all(clones.map(expectLimited));
  });
});

describe('a number of operations', () => {
  it('holds after a resume, and for each of the clones', async () => {
    const drive = await createDrive(daemon.client, 64);
    const drives = [{ id: drive.id, read_only: true }];
    const first = await createMeasured(daemon, { rate_limit: { ops_per_sec: OPS }, drives });
    const resumed = await bringUp(daemon.client, `${await takeSnapshot(daemon.client, first.id)}/resume`);
    await expectRate(OPS, () => measure(resumed, 'ops', '/dev/vda', '300'));
    const snapshot = await takeSnapshot(daemon.client, resumed.id);
    const clones = await makeClones(daemon.client, snapshot, { count: 2 });
    await Promise.all(
      ['/dev/vda', deviceOf(drive)].map((device, at) =>
        expectRate(OPS, () => measure(clones[at] as Sandbox, 'ops', device, '300')),
      ),
    );
  });
});

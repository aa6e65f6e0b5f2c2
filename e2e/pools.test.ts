import { truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Daemon } from './harness/daemon.ts';
import { expectFailure, expectNoContent } from './harness/failure.ts';
import { timed, until } from './harness/poll.ts';
import { createSandbox, listSandboxes } from './harness/sandbox.ts';
import type { Sandbox } from './harness/sandbox.ts';
import { createDrive } from './storage/drives.ts';

const SOON_MS = 60_000;
const SIZE = { vcpu_count: 1, mem_size_mib: 128 };

interface Pool {
  readonly id: string;
  readonly warm_ready: number;
  readonly claimed: number;
}

let daemon: Daemon;
let stack = new AsyncDisposableStack();

beforeAll(async () => {
  daemon = await Daemon.start();
});
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});
afterAll(() => daemon[Symbol.asyncDispose]());

async function pools(): Promise<Pool[]> {
  return ((await daemon.client.call('GET', '/pools')).json as { pools: Pool[] }).pools;
}

/** Makes a pool of the small size, waits until it is filled, and removes it after the test. */
async function makePool(body: { id: string; warm_count: number; max_count?: number }): Promise<void> {
  const { status, text } = await daemon.client.call('POST', '/pools', { ...SIZE, ...body });
  expect(status, text).toBe(200);
  stack.defer(async () => {
    await daemon.client.call('DELETE', `/pools/${body.id}`);
  });
  const wanted = Math.min(body.warm_count, body.max_count ?? Infinity);
  await until('the pool is filled', async () => (await pools())[0]?.warm_ready === wanted, SOON_MS);
}

/** A sandbox that ends with the test. */
async function make(body: object = {}): Promise<Sandbox> {
  return stack.use(await createSandbox(daemon.client, { ...SIZE, ...body }));
}

/** How many machines have booted. A sandbox that is served warm is none of them. */
async function boots(): Promise<number> {
  const { text } = await daemon.client.call('GET', '/metrics');
  return Number(/^boot_duration_ms_count (\d+)$/m.exec(text)?.[1]);
}

describe('a create that matches a pool', () => {
  it('is served warm, and is the caller’s in every way', async () => {
    // No room for another: nothing boots beside the create.
    await makePool({ id: 'small', warm_count: 1, max_count: 1 });
    const before = await boots();
    const egress = { mode: 'deny_all' } as const;
    const sandbox = await make({ name: 'mine', tags: { team: 'a' }, env: { WHO: 'me' }, egress });
    const other = await pools();
    expect(other).toEqual([expect.objectContaining({ id: 'small', claimed: 1 })]);
    expect(await sandbox.sh('echo $WHO; hostname; cat /etc/machine-id')).toBe(
      `me\nmine\n${sandbox.id.replaceAll('-', '')}`,
    );
    expect(await sandbox.metadata()).toEqual({
      id: sandbox.id,
      name: 'mine',
      tags: { team: 'a' },
    });
    const [item] = await listSandboxes(daemon.client, '?tag.team=a');
    expect(item).toMatchObject({ id: sandbox.id, name: 'mine', egress: { mode: 'deny_all' } });
    expect(await boots()).toBe(before);
  });

  it('has randomness and a clock of its own', async () => {
    await makePool({ id: 'two', warm_count: 2 });
    const [one, two] = await Promise.all([make(), make()]);
    const random = 'head -c 16 /dev/urandom | od -An -tx1';
    expect(await one.sh(random)).not.toBe(await two.sh(random));
    expect(await one.sh('cat /sys/class/net/eth0/address')).not.toBe(
      await two.sh('cat /sys/class/net/eth0/address'),
    );
    const clock = Number(await one.sh('date +%s'));
    expect(Math.abs(clock - Date.now() / 1000)).toBeLessThan(2);
  });

  it('is none when it wants another size, a drive, or a limit', async () => {
    await makePool({ id: 'small', warm_count: 1 });
    await make({ mem_size_mib: 192 });
    const { id } = await createDrive(daemon.client, 8);
    await make({ drives: [{ id, read_only: true }] });
    await make({ rate_limit: { ops_per_sec: 100_000 } });
    expect(await pools()).toEqual([expect.objectContaining({ claimed: 0, warm_ready: 1 })]);
  });

  it('boots when what is warm is spoilt, and the caller notices nothing', async () => {
    await daemon[Symbol.asyncDispose]();
    daemon = await Daemon.start({ SERVICE_POOL_STANDBY: '0' });
    await makePool({ id: 'spoilt', warm_count: 1 });
    const { json } = await daemon.client.call('GET', '/snapshots');
    const [warm] = (json as { snapshots: { id: string }[] }).snapshots;
    await truncate(join(daemon.stateDir, 'snapshots/held', warm?.id ?? '', 'state'), 1000);
    const sandbox = await make({ name: 'unaware' });
    expect(await sandbox.sh('hostname')).toBe('unaware');
    expect(daemon.log.find('warm instance is no good: booting instead')).toBeDefined();
  });
});

describe('a pool at its max_count', () => {
  it('makes the next wait, and wakes it when one ends', async () => {
    await makePool({ id: 'one', warm_count: 0, max_count: 1 });
    const first = await make();
    const second = timed(make({ name: 'second' }));
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(await listSandboxes(daemon.client)).toHaveLength(1);
    expectNoContent(await first.destroy());
    const { value } = await second;
    expect(await value.sh('hostname')).toBe('second');
    expect(await pools()).toEqual([expect.objectContaining({ claimed: 1 })]);
  });

  it('answers 503 after thirty seconds', { timeout: 120_000 }, async () => {
    await makePool({ id: 'one', warm_count: 0, max_count: 1 });
    await make();
    const { value, ms } = await timed(daemon.client.call('POST', '/sandboxes', SIZE));
    expectFailure(value, 503, 'POOL_EXHAUSTED', 'one');
    expect(ms).toBeGreaterThan(29_000);
  });
});

describe('the pools themselves', () => {
  it('outlive the daemon, with what is warm; what is claimed outlives the pool', async () => {
    await makePool({ id: 'lasting', warm_count: 2 });
    await daemon.stop();
    daemon = await daemon.restart();
    expect(await pools()).toEqual([
      { id: 'lasting', image_id: null, ...SIZE, warm_count: 2, max_count: null, warm_ready: 2, claimed: 0 },
    ]);
    const sandbox = await make();
    expectNoContent(await daemon.client.call('DELETE', '/pools/lasting'));
    expect(await pools()).toEqual([]);
    expect(await sandbox.sh('echo well')).toBe('well');
    await until('what was warm is gone', async () => (await snapshotCount()) === 0, SOON_MS);
  });

  it('have an id each, sizes within the ceilings, and an image that is there', async () => {
    await makePool({ id: 'one', warm_count: 0 });
    const post = (body: object) => daemon.client.call('POST', '/pools', { warm_count: 0, ...body });
    expectFailure(await post({ id: 'one' }), 409, 'POOL_EXISTS', 'one');
    expectFailure(await post({ id: 'x', mem_size_mib: 999_999 }), 400, 'INVALID_REQUEST', 'mem_size_mib');
    expectFailure(await post({ id: 'x', image_id: 'none' }), 404, 'NOT_FOUND', 'image not found: none');
    expectFailure(await post({ id: 'x', warm_count: -1 }), 400, 'INVALID_REQUEST', 'warm_count');
    expectFailure(await post({ id: 'x', max_count: 0 }), 400, 'INVALID_REQUEST', 'max_count');
    expectFailure(await post({}), 400, 'INVALID_REQUEST', 'id');
    expectFailure(await daemon.client.call('DELETE', '/pools/none'), 404, 'NOT_FOUND', 'none');
  });
});

async function snapshotCount(): Promise<number> {
  const { json } = await daemon.client.call('GET', '/snapshots');
  return (json as { snapshots: unknown[] }).snapshots.length;
}

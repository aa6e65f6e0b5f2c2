import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FakeSession } from '../testing/fake-agent.ts';
import { FakeNetwork } from '../testing/fake-network.ts';
import { FakePools } from '../testing/fake-pools.ts';
import { FakeMachine } from '../testing/fake-vmm.ts';
import { Deadline } from '../lib/deadline.ts';
import { Pools } from './pools.ts';
import type { Launch } from './pools.ts';
import { Replenisher } from './replenisher.ts';
import type { WarmWorks } from './replenisher.ts';
import type { Running, Sandbox } from './sandbox.ts';
import type { Standby } from './warm-instance.ts';

const SIZES = { vcpuCount: 1, maxVcpuCount: 4, memSizeMib: 128, maxMemSizeMib: 256 };
const log = pino({ level: 'silent' });
const { signal } = new AbortController();

function running(resources = new AsyncDisposableStack()): Running {
  const network = new FakeNetwork(1);
  return {
    machine: new FakeMachine(1, ''),
    agent: new FakeSession(),
    lease: network.lease(),
    resources,
  } as unknown as Running;
}

/** Works that make what they are asked for, and note what they did. */
class Works implements WarmWorks {
  frozen = 0;
  readonly removed: string[] = [];
  readonly woken: string[] = [];
  readonly disposed: string[] = [];
  remaining: { poolId: string; snapshotId: string }[] = [];
  failure: Error | undefined;
  loadFailure: Error | undefined;
  session = new FakeSession();
  readonly ends = new Map<string, (reason: string) => void>();

  freeze(): Promise<string> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    return Promise.resolve(`s${(this.frozen += 1)}`);
  }

  left() {
    return this.remaining;
  }

  load(id: string): Promise<Standby> {
    if (this.loadFailure !== undefined) return Promise.reject(this.loadFailure);
    const { promise: exited, resolve } = Promise.withResolvers<string>();
    this.ends.set(id, resolve);
    return Promise.resolve({
      exited,
      awaken: (sandbox) => {
        this.woken.push(`${id} as ${sandbox.name}`);
        return Promise.resolve({ ...running(), agent: this.session });
      },
      dispose: () => {
        this.disposed.push(id);
        return Promise.resolve();
      },
    });
  }

  remove(id: string): Promise<void> {
    this.removed.push(id);
    return Promise.resolve();
  }
}

let works: Works;
let pools: Pools;
let replenisher: Replenisher;
let store: FakePools;
let booted: string[];

beforeEach(() => {
  vi.useFakeTimers();
  works = new Works();
  store = new FakePools();
  booted = [];
  open();
});
afterEach(async () => {
  await replenisher.stop();
  vi.useRealTimers();
});

/** As a run of the daemon finds things. */
function open(standby = 1): void {
  pools = new Pools({ store, sizes: SIZES, jailed: false, log, assertImage: () => undefined });
  replenisher = new Replenisher(pools, works, standby, log);
  replenisher.start();
}
// Longer than a claimer is left alone.
const settle = (ms = 300) => vi.advanceTimersByTimeAsync(ms);

function sandbox(name: string, memSizeMib = 128): Sandbox {
  return {
    id: name,
    name,
    tags: {},
    createdAtUnix: 0,
    vcpuCount: 1,
    memSizeMib,
    drives: [],
  } as unknown as Sandbox;
}

/** Starts a sandbox as the daemon does; answers what ends it. */
async function create(one: Sandbox): Promise<() => Promise<void>> {
  let resources = new AsyncDisposableStack();
  const cold: Launch = () => {
    booted.push(one.name ?? '');
    return Promise.resolve(running());
  };
  const start = async (claimer: Sandbox, launch: Launch) => {
    using deadline = Deadline.in(60_000, 'the start');
    ({ resources } = await launch(claimer, deadline));
    return one;
  };
  await pools.launch(one, {}, cold, start, signal);
  return () => resources.disposeAsync();
}

const small = { id: 'small', warm_count: 1 };

test('a pool is filled, and a create of its profile takes what is ready, as itself; another profile boots', async () => {
  const pool = await pools.create(small);
  await settle();
  expect([pool.warmReady, pool.claimed]).toEqual([1, 0]);
  await create(sandbox('web'));
  expect(works.woken).toEqual(['s1 as web']);
  await create(sandbox('large', 256));
  expect(booted).toEqual(['large']);
  await settle();
  expect([pool.warmReady, pool.claimed]).toEqual([1, 1]);
  expect(works.removed).toEqual(['s1']);
});

test('what is claimed counts until its sandbox has ended', async () => {
  const pool = await pools.create({ ...small, warm_count: 0, max_count: 1 });
  const end = await create(sandbox('a'));
  const second = create(sandbox('b'));
  await settle(1000);
  expect(booted).toEqual(['a']);
  await end();
  await second;
  expect([booted, pool.claimed]).toEqual([['a', 'b'], 1]);
});

test.each<[string, (to: Works) => void]>([
  ['that cannot be loaded', (to) => (to.loadFailure = new Error('truncated'))],
  [
    'whose health check fails',
    (to) => vi.spyOn(to.session, 'exec').mockResolvedValue({ exitCode: 1, timedOut: false }),
  ],
  ['that does not answer', (to) => vi.spyOn(to.session, 'exec').mockRejectedValue(new Error('lost'))],
])('an instance %s is thrown away, and the caller notices nothing', async (_, spoil) => {
  await replenisher.stop();
  open(0);
  const pool = await pools.create(small);
  await settle();
  spoil(works);
  await create(sandbox('web'));
  await settle();
  expect(booted).toEqual(['web']);
  expect(works.removed).toContain('s1');
  expect(pool.claimed).toBe(1);
});

test('a boot begins only when nothing is left of the instance whose id it takes', async () => {
  await replenisher.stop();
  open(0);
  await pools.create(small);
  await settle();
  const { promise: loaded, reject } = Promise.withResolvers<Standby>();
  vi.spyOn(works, 'load').mockReturnValue(loaded);
  const created = create(sandbox('web'));
  await settle(10_000);
  expect([booted, works.removed]).toEqual([[], []]);
  reject(new Error('too late'));
  await created;
  expect([booted, works.removed]).toEqual([['web'], ['s1']]);
});

test('as many as asked for are kept loaded, and one whose machine ends is replaced', async () => {
  const pool = await pools.create({ ...small, warm_count: 3 });
  await settle();
  expect(pool.ready.map(({ isLoaded }) => isLoaded)).toEqual([true, false, false]);
  works.ends.get('s1')?.('its VM ended');
  await settle();
  expect(works.removed).toEqual(['s1']);
  await settle();
  expect([pool.warmReady, pool.ready.filter(({ isLoaded }) => isLoaded).length]).toEqual([3, 1]);
});

test('a pool whose instances fail is tried again, with longer and longer pauses', async () => {
  works.failure = new Error('no room');
  const freeze = vi.spyOn(works, 'freeze');
  await pools.create(small);
  await settle(1);
  expect(freeze).toHaveBeenCalledTimes(1);
  await settle(60_000);
  expect(freeze.mock.calls.length).toBeGreaterThan(3);
  expect(freeze.mock.calls.length).toBeLessThan(8);
  works.failure = undefined;
  await settle(62_000);
  expect(pools.get('small')?.warmReady).toBe(1);
});

test('a start that fails before it touched the instance leaves it ready', async () => {
  const pool = await pools.create(small);
  await settle();
  const taken = new Error('name taken');
  const launch = pools.launch(
    sandbox('web'),
    {},
    () => Promise.reject(taken),
    () => Promise.reject(taken),
    signal,
  );
  await expect(launch).rejects.toThrow(taken);
  expect([pool.warmReady, pool.claimed]).toEqual([1, 0]);
});

test('a pool that is removed takes what it has ready along, and its claimed live on', async () => {
  const pool = await pools.create({ ...small, warm_count: 2 });
  await settle();
  await create(sandbox('web'));
  await settle();
  await pools.remove('small');
  expect(works.removed.toSorted()).toEqual(['s1', 's2', 's3']);
  expect(pools.list()).toEqual([]);
  expect(await store.load()).toEqual([]);
  expect(pool.claimed).toBe(1);
  await expect(pools.remove('small')).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('an id is one pool’s, and sizes are within the ceilings', async () => {
  await pools.create(small);
  await expect(pools.create(small)).rejects.toMatchObject({ code: 'POOL_EXISTS' });
  await expect(pools.create({ ...small, id: 'x', vcpu_count: 5 })).rejects.toThrow(
    'vcpu_count: takes 1 to 4',
  );
});

test('settings and what is ready outlive the daemon, whose machines do not', async () => {
  await pools.create({ ...small, warm_count: 2, max_count: 5 });
  await settle();
  await replenisher.stop();
  expect(works.disposed).toEqual(['s1']);
  expect(works.removed).toEqual([]);
  open();
  await pools.restore();
  works.remaining = [
    { poolId: 'small', snapshotId: 's1' },
    { poolId: 'small', snapshotId: 's2' },
    { poolId: 'gone', snapshotId: 's9' },
  ];
  await replenisher.adopt();
  expect(works.removed).toEqual(['s9']);
  expect(pools.get('small')).toMatchObject({ warmReady: 2, spec: { maxCount: 5 } });
});

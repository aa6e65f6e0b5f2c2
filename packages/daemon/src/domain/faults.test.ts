import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { FAULT_POINTS, pointsOf } from '../lib/fault-points.ts';
import type { AtPoint, FaultPoint } from '../lib/fault-points.ts';
import { fakeService } from '../testing/fake-service.ts';
import { KEEP, SIZES, codeOf, signal, snapshotDesk } from '../testing/snapshot-desk.ts';
import type { FakeService } from '../testing/snapshot-desk.ts';

// The same with real machines, and with a daemon that is killed: e2e/faults.

// For what hangs alone: whatever else is asked of the fakes has half a minute.
const HANG_MS = 300;
const CALM_MS = 30_000;

let it: FakeService;
beforeEach(async () => {
  it = await fakeService({ sizes: SIZES });
});
afterEach(() => it[Symbol.asyncDispose]());

const { create, snapshot, live, held, retired, identities, devices } = snapshotDesk(() => it);
const resume = (id: string) => it.services.restores.resume(id, KEEP, signal);

/** Lets something happen at a point, once. */
function strike(point: FaultPoint, happens: AtPoint): void {
  if (happens === hang) it.limits.ms = HANG_MS;
  it.faults.at = (at, passing) => {
    if (at !== point) return;
    it.faults.at = () => undefined;
    return happens(at, passing);
  };
}

/** Lets nothing happen any more: on a busy host the deadline may have come before its point. */
function calm(): void {
  it.faults.at = () => undefined;
  it.limits.ms = CALM_MS;
}

const fail: AtPoint = () => {
  throw new Error('injected');
};

const hang: AtPoint = async (_, passing) => {
  if (passing.signal === undefined) throw new Error('a wait without an end');
  if (!passing.signal.aborted) await once(passing.signal, 'abort');
  passing.signal.throwIfAborted();
};

const killVm: AtPoint = (_, { id }) => {
  for (const [dir, machine] of it.fakes.vmm.machines)
    if (id !== undefined && dir.endsWith(id)) machine.crash('its VM ended (signal SIGKILL)');
};

/** What is there of machines, beside what these sandboxes have. */
async function left(...live: string[]): Promise<unknown[]> {
  return [
    ...[...it.fakes.vmm.machines.keys()].filter((dir) => !live.some((id) => dir.endsWith(id))),
    ...(await it.fakes.storage.listMachines()).filter((id) => !live.includes(id)),
    ...it.fakes.history.list({ liveOnly: true, limit: 10 }).filter(({ id }) => !live.includes(id)),
    ...(devices() === live.length ? [] : [`${devices()} devices`]),
  ];
}

const settled = (...live: string[]) => expect.poll(() => left(...live)).toEqual([]);

const WAYS = [
  ['an error', 'error', fail, 'injected'],
  ['a step that hangs', 'hang', hang, `took longer than ${HANG_MS} ms`],
] as const;

test('every point of the registry is passed in a life', async () => {
  const passed = new Set<FaultPoint>();
  const note: AtPoint = (point) => void passed.add(point);
  it.faults.at = note;
  await resume(await snapshot());
  await it.services.sandboxes.destroy(live()[0] ?? '');
  await using _next = await fakeService({ sizes: SIZES, atPoint: note });
  expect(passed).toEqual(new Set(Object.keys(FAULT_POINTS)));
});

describe.each(WAYS)('%s', (_, fault, happens, told) => {
  test.each(pointsOf(fault, 'boot'))('at %s leaves nothing of a create', async (point) => {
    const other = await create();
    strike(point, happens);
    const refused = create({ name: 'web' });
    await expect(refused).rejects.toThrow(codeOf('BOOT_FAILED'));
    await expect(refused).rejects.toThrow(told);
    calm();
    await settled(other.id);
    expect(live()).toEqual([other.id]);
    expect(identities()).toBe(1);
    await create({ name: 'web' });
  });

  test.each(pointsOf(fault, 'capture').filter((point) => point !== 'capture:committed'))(
    'at %s leaves the sandbox, live, and no snapshot',
    async (point) => {
      const { id } = await create({ name: 'web' });
      strike(point, happens);
      const refused = it.services.snapshots.take(id);
      await expect(refused).rejects.toThrow(codeOf('SNAPSHOT_FAILED'));
      await expect(refused).rejects.toThrow(told);
      calm();
      expect(live()).toEqual([id]);
      expect(await held()).toEqual([]);
      expect((await it.fakes.snapshots.recover()).halfMade).toEqual([]);
      expect([...it.fakes.vmm.machines.values()].map(({ paused }) => paused)).toEqual([false]);
      await it.services.guests.reach(id, (agent) => agent.health(signal));
      await it.services.snapshots.take(id);
      await settled();
    },
  );

  test.each(pointsOf(fault, 'restore', 'enter', 'resume'))(
    'at %s leaves the snapshot, and no sandbox',
    async (point) => {
      const taken = await snapshot({ name: 'web' });
      strike(point, happens);
      const refused = resume(taken);
      await expect(refused).rejects.toThrow(codeOf('RESTORE_FAILED'));
      await expect(refused).rejects.toThrow(told);
      calm();
      expect(await held()).toEqual([taken]);
      expect(await retired()).toEqual([]);
      await settled();
      expect(live()).toEqual([]);
      expect(identities()).toBe(1);
      await settled((await resume(taken)).id);
    },
  );

  test.each(pointsOf(fault, 'recover'))('at %s ends the start, and the next one does all', async (point) => {
    const taken = await snapshot();
    const { storage } = it.fakes;
    await storage.createMachine('of-an-earlier-run', signal);
    const atPoint: AtPoint = (at, passing) => (at === point ? happens(at, passing) : undefined);
    const start = fakeService({
      sizes: SIZES,
      storage,
      atPoint,
      startMs: fault === 'hang' ? HANG_MS : CALM_MS,
    });
    await expect(start).rejects.toThrow(fault === 'error' ? told : 'timeout');
    await using next = await fakeService({ sizes: SIZES, storage });
    expect(await storage.listMachines()).toEqual([]);
    await next.services.restores.resume(taken, KEEP, signal);
  });
});

test('a snapshot whose machine cannot be ended at once is whole', async () => {
  const { id } = await create();
  strike('capture:committed', fail);
  const taken = await it.services.snapshots.take(id);
  expect(await held()).toEqual([taken]);
  await settled();
});

describe('a VM killed', () => {
  test.each(pointsOf('vm killed', 'capture'))(
    'at %s leaves nothing that claims to be there',
    async (point) => {
      const { id } = await create({ name: 'web' });
      strike(point, killVm);
      const outcome = await it.services.snapshots.take(id).then(
        () => 'snapshot',
        () => 'lost',
      );
      await settled();
      expect(live()).toEqual([]);
      expect(await held()).toHaveLength(outcome === 'snapshot' ? 1 : 0);
      await expect.poll(() => identities()).toBe(outcome === 'snapshot' ? 1 : 0);
    },
  );
});

describe('a release', () => {
  test.each(pointsOf('error', 'release'))('that fails at %s is done again', async (point) => {
    const other = await create();
    const { id } = await create();
    strike(point, fail);
    await it.services.sandboxes.destroy(id);
    expect(await left(other.id)).not.toEqual([]);
    await settled(other.id);
    expect(identities()).toBe(1);
  });

  test('that fails again and again is done when the service ends, or told of', async () => {
    const own = await fakeService({ sizes: SIZES });
    const { id } = await own.services.sandboxes.create({}, signal);
    own.faults.at = (point) => {
      if (point === 'release:files') throw new Error('injected');
    };
    await own.services.sandboxes.destroy(id);
    await expect(own[Symbol.asyncDispose]()).rejects.toThrow('injected');
  });

  test('that fails after a create did is not what the caller is told', async () => {
    it.faults.at = (point) => {
      if (point === 'boot:configured' || point === 'release:lease') throw new Error(`injected at ${point}`);
    };
    await expect(create()).rejects.toThrow('injected at boot:configured');
    it.faults.at = () => undefined;
    await settled();
  });
});

test('a host that cannot be looked at is told of as the start that it fails', async () => {
  const taken = await snapshot({ name: 'web' });
  const failed = Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' });
  vi.spyOn(it.fakes.host, 'freeProcesses').mockRejectedValue(failed);
  for (const [start, code] of [
    [create(), 'BOOT_FAILED'],
    [resume(taken), 'RESTORE_FAILED'],
  ] as const) {
    await expect(start).rejects.toThrow(codeOf(code));
    await expect(start).rejects.toThrow('EMFILE');
  }
  await settled();
  expect(await held()).toEqual([taken]);
});

test('a history that is locked for a moment is waited for, on both ends of a life', async () => {
  const locked = (method: 'began' | 'ended') =>
    vi.spyOn(it.fakes.history, method).mockImplementationOnce(() => {
      throw new Error('database is locked');
    });
  locked('began');
  const { id } = await create();
  locked('ended');
  await it.services.sandboxes.destroy(id);
  expect(await left()).not.toEqual([]);
  await settled();
});

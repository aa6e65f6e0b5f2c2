import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Pool, QUEUE_MS } from './pool.ts';
import type { Slot } from './pool.ts';
import { WarmInstance } from './warm-instance.ts';

const { signal } = new AbortController();
const source = { load: () => Promise.reject(new Error('not here')), remove: () => Promise.resolve() };
const warm = (id = 's') => new WarmInstance(id, source);
const pool = (warmCount: number, maxCount?: number) =>
  new Pool({ id: 'p', imageId: undefined, vcpuCount: 1, memSizeMib: 64, warmCount, maxCount });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** What an entry comes to, once it does. */
function enter(into: Pool, abort = signal) {
  const entry: { slot?: Slot; error?: unknown } = {};
  void into.enter(abort).then(
    (slot) => (entry.slot = slot),
    (error: unknown) => (entry.error = error),
  );
  return entry;
}
const settle = () => vi.advanceTimersByTimeAsync(0);

test('what is ready is claimed, and then one boots', async () => {
  const it = pool(1);
  it.beginWarming();
  const instance = warm();
  expect(it.warmed(instance)).toBe(true);
  expect([it.warmReady, it.claimed]).toEqual([1, 0]);
  expect((await it.enter(signal)).warm).toBe(instance);
  expect((await it.enter(signal)).warm).toBeUndefined();
  expect([it.warmReady, it.claimed]).toEqual([0, 2]);
});

test('instances are made up to the target, within the ceiling, and what is under way counts', async () => {
  const it = pool(3, 2);
  expect(it.shortage).toBe(2);
  it.beginWarming();
  expect(it.shortage).toBe(1);
  await it.enter(signal);
  expect(it.shortage).toBe(0);
  it.notWarmed();
  expect(it.shortage).toBe(1);
});

test('at the ceiling a create waits for a place, first come first served, and one that is given back twice is one place', async () => {
  const it = pool(0, 1);
  const first = await it.enter(signal);
  const [second, third] = [enter(it), enter(it)];
  await settle();
  expect([second.slot, third.slot, it.waiting]).toEqual([undefined, undefined, 2]);
  first.leave();
  first.leave();
  await settle();
  expect([second.slot?.warm, third.slot, it.claimed]).toEqual([undefined, undefined, 1]);
  second.slot?.leave();
  await settle();
  expect([third.slot !== undefined, it.claimed, it.waiting]).toEqual([true, 1, 0]);
});

test('who waits gets the next instance that is ready, before it is anybody else’s', async () => {
  const it = pool(1, 1);
  it.beginWarming();
  const waiting = enter(it);
  await settle();
  const instance = warm();
  it.warmed(instance);
  await settle();
  expect(waiting.slot?.warm).toBe(instance);
  expect([it.warmReady, it.claimed]).toEqual([0, 1]);
});

test('none is made while someone waits for the place', async () => {
  const it = pool(1, 1);
  const first = await it.enter(signal);
  const waiting = enter(it);
  await settle();
  expect(it.shortage).toBe(0);
  first.leave();
  await settle();
  waiting.slot?.leave();
  expect(it.shortage).toBe(1);
});

test('a wait ends after thirty seconds, or when its client goes away, and takes no place', async () => {
  const it = pool(0, 1);
  await it.enter(signal);
  const client = new AbortController();
  const [late, gone] = [enter(it), enter(it, client.signal)];
  client.abort(new Error('gone'));
  await settle();
  expect(gone.error).toEqual(new Error('gone'));
  await vi.advanceTimersByTimeAsync(QUEUE_MS - 1);
  expect(late.error).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(late.error).toMatchObject({ code: 'POOL_EXHAUSTED', status: 503 });
  expect([it.claimed, it.waiting]).toEqual([1, 0]);
});

test('an instance that is loaded is claimed before one that is not', async () => {
  const it = pool(2);
  const standby = { exited: new Promise<string>(() => undefined), awaken: vi.fn(), dispose: vi.fn() };
  const loaded = new WarmInstance('b', { ...source, load: () => Promise.resolve(standby) });
  it.adopt(warm('a'));
  it.adopt(loaded);
  await loaded.load();
  expect((await it.enter(signal)).warm).toBe(loaded);
  expect((await it.enter(signal)).warm?.snapshotId).toBe('a');
});

test('one that went bad is dropped, unless it was claimed', async () => {
  const it = pool(2);
  const [bad, claimed] = [warm('bad'), warm('claimed')];
  it.adopt(claimed);
  await it.enter(signal);
  it.adopt(bad);
  expect([it.drop(bad), it.drop(claimed), it.warmReady]).toEqual([true, false, 0]);
});

test('a closed pool takes nothing more, gives back what was ready, and lets those who wait boot', async () => {
  const it = pool(2, 1);
  const slot = await it.enter(signal);
  const waiting = enter(it);
  it.beginWarming();
  expect(it.close()).toEqual([]);
  await settle();
  expect(waiting.slot).toMatchObject({ warm: undefined });
  expect(it.warmed(warm())).toBe(false);
  expect(it.shortage).toBe(0);
  slot.leave();
});

test('counts are right at every step of 2,000 random ones', async () => {
  const it = pool(3, 5);
  const slots: Slot[] = [];
  let warming = 0;
  let ready = 0;
  let seed = 7;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  for (let step = 0; step < 2000; step += 1) {
    const dice = random();
    if (dice < 0.3 && ready + warming + slots.length < 5) {
      const slot = await it.enter(signal);
      expect(slot.warm !== undefined).toBe(ready > 0);
      if (slot.warm !== undefined) ready -= 1;
      slots.push(slot);
    } else if (dice < 0.5) {
      slots.splice(Math.floor(random() * slots.length), 1)[0]?.leave();
    } else if (dice < 0.7 && it.shortage > 0) {
      it.beginWarming();
      warming += 1;
    } else if (dice < 0.9 && warming > 0) {
      warming -= 1;
      if (random() < 0.8) {
        it.warmed(warm());
        ready += 1;
      } else it.notWarmed();
    }
    expect([it.warmReady, it.claimed]).toEqual([ready, slots.length]);
    expect(it.shortage).toBe(Math.max(0, Math.min(3 - ready - warming, 5 - ready - warming - slots.length)));
  }
});

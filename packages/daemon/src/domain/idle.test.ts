import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Idle } from './idle.ts';
import type { Candidate, IdleActions, IdleOptions } from './idle.ts';

let sandboxes: Map<string, { usedAt: number; busy: boolean; canSuspend: boolean }>;
let actions: { [K in keyof IdleActions]: ReturnType<typeof vi.fn<IdleActions[K]>> };
let idle: Idle | undefined;

beforeEach(() => {
  vi.useFakeTimers();
  sandboxes = new Map();
  const gone = (id: string) => {
    sandboxes.delete(id);
    return Promise.resolve();
  };
  actions = {
    candidates: vi.fn(() =>
      [...sandboxes].map(([id, { usedAt, busy, canSuspend }]): Candidate => {
        return { id, idleMs: busy ? 0 : performance.now() - usedAt, canSuspend };
      }),
    ),
    suspend: vi.fn(gone),
    destroy: vi.fn(gone),
  };
});
afterEach(async () => {
  await idle?.stop();
  vi.useRealTimers();
});

function watch(options: IdleOptions): void {
  idle = new Idle(actions, options, pino({ level: 'silent' }));
  idle.start();
}
function add(id: string, more: { busy?: boolean; canSuspend?: boolean } = {}): void {
  sandboxes.set(id, { usedAt: performance.now(), busy: false, canSuspend: true, ...more });
}
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test('what is idle for long enough is suspended, and nothing that is used', async () => {
  watch({ suspendAfterMs: 2000, destroyAfterMs: undefined });
  add('idle');
  add('busy', { busy: true });
  await pass(1900);
  expect(actions.suspend).not.toHaveBeenCalled();
  await pass(700);
  expect(actions.suspend.mock.calls).toEqual([['idle']]);
  await pass(10_000);
  expect(actions.suspend).toHaveBeenCalledTimes(1);
});

test('what is used in between is idle anew', async () => {
  watch({ suspendAfterMs: 2000, destroyAfterMs: undefined });
  add('web');
  await pass(1500);
  add('web');
  await pass(1500);
  expect(actions.suspend).not.toHaveBeenCalled();
});

test('a suspension that fails is tried again with longer pauses, and the sandbox is destroyed when that is due', async () => {
  watch({ suspendAfterMs: 2000, destroyAfterMs: 20_000 });
  actions.suspend.mockImplementation(() => Promise.reject(new Error('disk full')));
  add('web');
  await pass(19_000);
  expect(actions.suspend.mock.calls.length).toBeGreaterThan(2);
  expect(actions.suspend.mock.calls.length).toBeLessThan(7);
  expect(actions.destroy).not.toHaveBeenCalled();
  await pass(2000);
  expect(actions.destroy.mock.calls).toEqual([['web']]);
});

test('a suspension under way is not begun again', async () => {
  watch({ suspendAfterMs: 1000, destroyAfterMs: undefined });
  const { promise, resolve } = Promise.withResolvers<undefined>();
  actions.suspend.mockImplementation(() => promise);
  add('slow');
  await pass(60_000);
  expect(actions.suspend).toHaveBeenCalledTimes(1);
  resolve(undefined);
});

test('a fork is never suspended, and destroyed when that is due', async () => {
  watch({ suspendAfterMs: 1000, destroyAfterMs: 3000 });
  add('fork', { canSuspend: false });
  await pass(4000);
  expect(actions.suspend).not.toHaveBeenCalled();
  expect(actions.destroy.mock.calls).toEqual([['fork']]);
});

test('without a timeout nobody looks', async () => {
  watch({ suspendAfterMs: undefined, destroyAfterMs: undefined });
  add('web');
  await pass(1_000_000);
  expect(actions.candidates).not.toHaveBeenCalled();
});

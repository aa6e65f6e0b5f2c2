import { expect, test } from 'vitest';
import { Deadline, DeadlineError } from './deadline.ts';

const never = new Promise<never>(() => undefined);

test('a wait ends at the deadline and says what took too long', async () => {
  using deadline = Deadline.in(5, 'the test');
  await expect(deadline.race(never)).rejects.toThrow(new DeadlineError('the test', 5));
});

test('a wait that is done in time answers', async () => {
  using deadline = Deadline.in(60_000, 'the test');
  await expect(deadline.race(Promise.resolve('done'))).resolves.toBe('done');
});

test('a parent ends it early, with its own reason', async () => {
  const parent = new AbortController();
  using deadline = Deadline.in(60_000, 'the test', parent.signal);
  const wait = deadline.race(never);
  parent.abort(new Error('the client went away'));
  await expect(wait).rejects.toThrow('the client went away');
  expect(deadline.signal.aborted).toBe(true);
});

test('a parent that has ended ends it at once', () => {
  using deadline = Deadline.in(60_000, 'the test', AbortSignal.abort(new Error('before')));
  expect(() => deadline.signal.throwIfAborted()).toThrow('before');
});

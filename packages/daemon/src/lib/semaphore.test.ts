import { expect, test } from 'vitest';
import { Semaphore } from './semaphore.ts';

const { signal } = new AbortController();

test('lets as many through as it has places, in order of arrival', async () => {
  const semaphore = new Semaphore(1);
  const first = await semaphore.acquire(signal);
  const order: string[] = [];
  const second = semaphore.acquire(signal).then((place) => (order.push('second'), place));
  const third = semaphore.acquire(signal).then((place) => (order.push('third'), place));
  await Promise.resolve();
  expect(order).toEqual([]);
  first[Symbol.dispose]();
  (await second)[Symbol.dispose]();
  (await third)[Symbol.dispose]();
  expect(order).toEqual(['second', 'third']);
});

test('who gives up while waiting takes no place', async () => {
  const semaphore = new Semaphore(1);
  const held = await semaphore.acquire(signal);
  const impatient = new AbortController();
  const waiting = semaphore.acquire(impatient.signal);
  impatient.abort(new Error('gave up'));
  await expect(waiting).rejects.toThrow('gave up');
  held[Symbol.dispose]();
  held[Symbol.dispose]();
  using place = await semaphore.acquire(signal);
  expect(place).toBeDefined();
});

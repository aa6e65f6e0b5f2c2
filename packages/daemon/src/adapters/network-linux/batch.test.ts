import { expect, it } from 'vitest';
import { Batch } from './batch.ts';

function recorder() {
  const batches: (readonly string[])[] = [];
  const run = async (items: readonly string[]) => {
    batches.push(items);
    await Promise.resolve();
    if (items.includes('bad')) throw new Error('no');
  };
  return { batches, run };
}

it('does together what comes while it is at work', async () => {
  const { batches, run } = recorder();
  const batch = new Batch(run, 10);
  await Promise.all(['a', 'b', 'c'].map((item) => batch.add(item)));
  await batch.add('d');
  expect(batches).toEqual([['a'], ['b', 'c'], ['d']]);
});

it('makes no batch heavier than its limit, but for one piece alone', async () => {
  const { batches, run } = recorder();
  const batch = new Batch(run, 3, (item) => item.length);
  await Promise.all(['-', 'aa', 'b', 'cc', 'dddd', 'e'].map((item) => batch.add(item)));
  expect(batches).toEqual([['-'], ['aa', 'b'], ['cc'], ['dddd'], ['e']]);
});

it('fails all of a batch, and none of the next', async () => {
  const { run } = recorder();
  const batch = new Batch(run, 10);
  const outcome = await Promise.allSettled(['a', 'b', 'bad'].map((item) => batch.add(item)));
  expect(outcome.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
  await batch.add('c');
});

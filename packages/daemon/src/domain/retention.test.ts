import { expect, test } from 'vitest';
import { lineagesOf, selectPrunable } from './retention.ts';
import type { Retained, RetentionPolicy } from './retention.ts';

const NOW = 1000;
const NO_LIMIT: RetentionPolicy = { keepLast: undefined, maxAgeSecs: undefined, maxBytes: undefined };

/** Retired one after the other, ten bytes each. */
function checkpoints(count: number, more: Partial<Retained> = {}, prefix = 'c'): Retained[] {
  return Array.from({ length: count }, (_, at) => ({
    id: `${prefix}${at}`,
    lineage: prefix,
    retiredAtUnix: NOW - 100 + at,
    bytes: 10,
    pinned: false,
    ...more,
  }));
}
const prune = (all: readonly Retained[], policy: Partial<RetentionPolicy>) =>
  selectPrunable(all, { ...NO_LIMIT, ...policy }, NOW).map(
    ({ checkpoint, reason }) => `${checkpoint.id} ${reason}`,
  );

test('without a limit all is kept', () => {
  expect(prune(checkpoints(100), {})).toEqual([]);
});

test('the newest are kept, in each lineage', () => {
  const all = [...checkpoints(3), ...checkpoints(2, {}, 'd')];
  expect(prune(all, { keepLast: 1 })).toEqual(['c0 keep_last', 'c1 keep_last', 'd0 keep_last']);
});

test('of those retired within a second the later ones are the newer', () => {
  expect(prune(checkpoints(3, { retiredAtUnix: NOW }), { keepLast: 1 })).toEqual([
    'c0 keep_last',
    'c1 keep_last',
  ]);
});

test('what is too old goes', () => {
  expect(prune(checkpoints(4), { maxAgeSecs: 98 })).toEqual(['c0 max_age', 'c1 max_age']);
});

test('the oldest go that do not fit', () => {
  expect(prune(checkpoints(4), { maxBytes: 25 })).toEqual(['c0 max_bytes', 'c1 max_bytes']);
  expect(prune(checkpoints(1, { bytes: 100 }), { maxBytes: 25 })).toEqual(['c0 max_bytes']);
});

test('what is pinned stays and does not count', () => {
  const all = [...checkpoints(2), { ...(checkpoints(1)[0] as Retained), id: 'pinned', pinned: true }];
  expect(prune(all, { keepLast: 1, maxBytes: 10 })).toEqual(['c0 keep_last']);
});

test('limits add up', () => {
  expect(prune(checkpoints(4), { keepLast: 3, maxAgeSecs: 98 })).toEqual(['c0 max_age', 'c1 max_age']);
});

test('a lineage is told by its first ancestor that is known', () => {
  const parents = new Map([
    ['a', undefined],
    ['b', 'a'],
    ['c', 'b'],
    ['d', 'deleted'],
    ['e', 'd'],
  ]);
  expect(Object.fromEntries(lineagesOf(parents))).toEqual({ a: 'a', b: 'a', c: 'a', d: 'd', e: 'd' });
});

import { expect, test } from 'vitest';
import { largestRange, mayMap, Numbers } from './subids.ts';

const FILE = 'other:100000:65536\natoll:200000:10\natoll:300000:1000\n990:108:1\nbroken\n';

test('the largest range of a user counts, by name or by number', () => {
  expect(largestRange(FILE, 'atoll', 990)).toEqual({ start: 300_000, count: 1000 });
  expect(largestRange(FILE, 'nobody', 990)).toEqual({ start: 108, count: 1 });
  expect(largestRange(FILE, 'nobody', 1)).toBeUndefined();
  expect(largestRange('', 'atoll', 990)).toBeUndefined();
});

test('one id may be mapped where a range of the user’s has it', () => {
  expect(mayMap(FILE, 'atoll', 990, 108)).toBe(true);
  expect(mayMap(FILE, 'atoll', 990, 200_009)).toBe(true);
  expect(mayMap(FILE, 'atoll', 990, 200_010)).toBe(false);
  expect(mayMap(FILE, 'other', 1, 108)).toBe(false);
});

test('no two machines have one number, and all are given', () => {
  const numbers = new Numbers(50);
  const taken = Array.from({ length: 50 }, (_, at) => numbers.take(`machine ${at}`));
  expect(new Set(taken).size).toBe(50);
  expect(Math.max(...taken)).toBe(49);
  expect(() => numbers.take('one more')).toThrow('all 50 subordinate ids are in use');
  numbers.giveBack(7);
  expect(numbers.take('one more')).toBe(7);
});

test('a machine’s number follows from its id', () => {
  expect(new Numbers(1000).take('a')).toBe(new Numbers(1000).take('a'));
  expect(new Numbers(1000).take('a')).not.toBe(new Numbers(1000).take('b'));
});

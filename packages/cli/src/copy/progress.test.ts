import { expect, test } from 'vitest';
import { lineOf } from './progress.ts';

const MIB = 1024 * 1024;

test('the line says how much, how fast and how long still', () => {
  expect(lineOf('large', 512 * MIB, 1024 * MIB, 10_000, 100)).toBe(
    'large  [############------------]  50%  512.0 MiB of 1.0 GiB  51.2 MiB/s  0:10',
  );
  expect(lineOf('dev:/root', 3 * MIB, undefined, 1000, 100)).toBe('dev:/root  3.0 MiB  3.0 MiB/s');
  expect(lineOf('empty', 0, 0, 0, 100)).toContain('0%');
});

test.each([60, 40, 20, 5])('it is no longer than %i', (width) => {
  expect(lineOf('a-name-of-some-length', 512 * MIB, 1024 * MIB, 10_000, width).length).toBeLessThanOrEqual(
    width,
  );
});

import { expect, test } from 'vitest';
import { keyValue, variable, variablesOf } from './pairs.ts';
import { mib, port, whole } from './size.ts';

test.each([
  ['512', 512],
  ['512M', 512],
  ['512mib', 512],
  ['2G', 2048],
  ['1.5g', 1536],
  ['1T', 1_048_576],
])('%s is %i MiB', (text, size) => {
  expect(mib(text)).toBe(size);
});

test.each(['', 'x', '0', '-1', '1.3', '1K', '0.0001G', '1e3'])('%j is no size', (text) => {
  expect(() => mib(text)).toThrow('is no size');
});

test('numbers and ports are whole and within their limits', () => {
  expect([whole('1'), whole('0', 0), port('65535')]).toEqual([1, 0, 65_535]);
  for (const text of ['0', '1.5', '-1', '', 'x', '9'.repeat(20)])
    expect(() => whole(text)).toThrow('no whole number');
  expect(() => port('65536')).toThrow('no port');
});

test('pairs are collected, and values may hold anything', () => {
  expect(keyValue('b=c=d', keyValue('a=1'))).toEqual({ a: '1', b: 'c=d' });
  expect(() => keyValue('=x')).toThrow('is no pair');
  expect(variablesOf('# note\nA=1\n\nexport B=two words\r\n')).toEqual({ A: '1', B: 'two words' });
});

test('a variable without a value is that of the environment', () => {
  process.env['ATOLL_TEST_VARIABLE'] = 'from here';
  expect(variable('ATOLL_TEST_VARIABLE', { A: '1' })).toEqual({ A: '1', ATOLL_TEST_VARIABLE: 'from here' });
  delete process.env['ATOLL_TEST_VARIABLE'];
  expect(() => variable('ATOLL_TEST_VARIABLE')).toThrow('the environment has no ATOLL_TEST_VARIABLE');
});

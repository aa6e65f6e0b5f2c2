import { expect, test } from 'vitest';
import { besides, placeOf, targetOf } from './place.ts';

test.each([
  ['dev:/root/f', { kind: 'sandbox', sandbox: 'dev', path: '/root/f' }],
  ['dev:f', { kind: 'sandbox', sandbox: 'dev', path: '/f' }],
  ['a_b-1:/x:y', { kind: 'sandbox', sandbox: 'a_b-1', path: '/x:y' }],
  ['./dev:f', { kind: 'local', path: './dev:f' }],
  ['/dev:f', { kind: 'local', path: '/dev:f' }],
  ['a b:c', { kind: 'local', path: 'a b:c' }],
  ['plain', { kind: 'local', path: 'plain' }],
  ['-', { kind: 'stream' }],
])('%s is a place', (word, place) => {
  expect(placeOf(word)).toEqual(place);
});

test('a sandbox without a path is no place', () => {
  expect(() => placeOf('dev:')).toThrow('names no path');
});

test.each([
  ['a/f', false, '/to', 'nothing', '/to', false],
  ['a/f', false, '/to', 'file', '/to', false],
  ['a/f', false, '/to', 'folder', '/to/f', false],
  ['a/f', false, '/to/', 'nothing', '/to/f', false],
  ['a/d', true, '/to', 'nothing', '/to', false],
  ['a/d/', true, '/to/', 'nothing', '/to', false],
  ['a/d', true, '/to', 'folder', '/to/d', false],
  ['a/d/', true, '/to', 'folder', '/to/d', false],
  ['a/d/.', true, '/to', 'folder', '/to', true],
  ['.', true, '/to', 'folder', '/to', true],
  ['..', true, '/to', 'folder', '/to', true],
  ['/', true, '/to', 'folder', '/to', true],
  ['a/d', true, '/', 'folder', '/d', false],
] as const)('%s (folder: %s) to %s, where there is a %s', (source, isFolder, to, standing, path, isMerge) => {
  expect(targetOf(source, isFolder, to, standing)).toEqual({ path, isMerge });
});

test('a folder does not take the place of a file', () => {
  expect(() => targetOf('d', true, '/f', 'file')).toThrow('/f is a file');
});

test('what is not whole yet stands beside, under a name of a length that file systems take', () => {
  expect(besides('/root/f', 'abcd')).toBe('/root/.f.atoll-abcd');
  expect(besides(`/root/${'x'.repeat(255)}`, 'abcd').length).toBeLessThan(255);
});

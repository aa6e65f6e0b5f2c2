import { lstat, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FolderTarget } from './folder-target.ts';
import type { EntryHeader } from './tree.ts';

let outer: string;
let root: string;
beforeEach(async () => {
  outer = await mkdtemp(join(tmpdir(), 'atoll-target-'));
  root = await mkdtemp(join(outer, 'in-'));
  await writeFile(join(outer, 'victim'), 'kept');
});
afterEach(() => rm(outer, { recursive: true, force: true }));

type Entry = Partial<EntryHeader> & Pick<EntryHeader, 'name'>;

async function unpack(...entries: Entry[]): Promise<void> {
  const target = new FolderTarget(root, {});
  for (const entry of entries) {
    const header = { type: 'file', size: 0, mode: 0o644, mtime: new Date(0), ...entry };
    const content = header.type === 'file' ? ['content'] : [];
    await target.add({ header, body: new Blob(content).stream() });
  }
  await target.finish();
}

test.each<[string, Entry[]]>([
  ['a name above', [{ name: '../victim' }]],
  ['a name above, on the way', [{ name: 'a/../../victim' }]],
  ['an absolute name', [{ name: '/victim' }]],
  ['a link of its own', [{ name: 'out', type: 'symlink', linkname: '..' }, { name: 'out/victim' }]],
  [
    'a folder that is a link',
    [
      { name: 'out', type: 'symlink', linkname: '..' },
      { name: 'out/', type: 'directory' },
      { name: 'out/victim' },
    ],
  ],
  ['a hard link to above', [{ name: 'l', type: 'link', linkname: '../victim' }, { name: 'l' }]],
  [
    'a hard link by a link',
    [
      { name: 'out', type: 'symlink', linkname: '..' },
      { name: 'l', type: 'link', linkname: 'out/victim' },
    ],
  ],
  [
    'a hard link to a link',
    [
      { name: 'out', type: 'symlink', linkname: '../victim' },
      { name: 'l', type: 'link', linkname: 'out' },
    ],
  ],
])('nothing leads out by %s', async (_what, entries) => {
  await expect(unpack(...entries)).rejects.toThrow();
  expect(await readFile(join(outer, 'victim'), 'utf8')).toBe('kept');
  expect((await readdir(outer)).length).toBe(2);
});

test('a link that was there is replaced, never written through', async () => {
  await symlink(join(outer, 'victim'), join(root, 'f'));
  await unpack({ name: './f' });
  expect(await readFile(join(root, 'f'), 'utf8')).toBe('content');
  expect(await readFile(join(outer, 'victim'), 'utf8')).toBe('kept');
});

test('links, modes and times are as told, but for bits that lend a user', async () => {
  await unpack(
    { name: './', type: 'directory', mode: 0o700, mtime: new Date(5000) },
    { name: './d/', type: 'directory', mode: 0o2750, mtime: new Date(6000) },
    { name: './d/f', mode: 0o6751, mtime: new Date(7000) },
    { name: './d/h', type: 'link', linkname: './d/f' },
    { name: './d/l', type: 'symlink', linkname: '/any/where', mtime: new Date(8000) },
  );
  const seen = async (name: string) => {
    const { mode, mtimeMs, nlink } = await lstat(join(root, name));
    return [(mode & 0o7777).toString(8), mtimeMs, nlink];
  };
  expect(await seen('d')).toEqual(['750', 6000, 2]);
  expect(await seen('d/f')).toEqual(['751', 7000, 2]);
  expect((await lstat(join(root, 'd/l'))).mtimeMs).toBe(8000);
  expect(await readlink(join(root, 'd/l'))).toBe('/any/where');
});

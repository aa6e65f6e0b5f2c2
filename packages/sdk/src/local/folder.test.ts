import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { saveFile } from './folder.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'atoll-save-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const bytes = (text: string) => new Blob([text]).stream();

function brokenOff(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array(10));
    },
    pull() {
      throw new Error('broken off');
    },
  });
}

test('a file takes the place of the one before, with its mode', async () => {
  const path = join(dir, 'file');
  await writeFile(path, 'before');
  await saveFile(bytes('after'), path, 0o750);
  expect([await readFile(path, 'utf8'), (await stat(path)).mode & 0o777]).toEqual(['after', 0o750]);
  expect(await readdir(dir)).toEqual(['file']);
});

test('content that breaks off leaves what was there, and nothing else', async () => {
  const path = join(dir, 'file');
  await writeFile(path, 'before');
  await expect(saveFile(brokenOff(), path, undefined)).rejects.toThrow('broken off');
  expect(await readFile(path, 'utf8')).toBe('before');
  expect(await readdir(dir)).toEqual(['file']);
});

test('a folder in its place stays', async () => {
  const path = join(dir, 'folder');
  await mkdir(path);
  await expect(saveFile(bytes('after'), path, undefined)).rejects.toMatchObject({ code: 'EISDIR' });
  expect(await readdir(dir)).toEqual(['folder']);
});

test('a device takes the bytes', async () => {
  await saveFile(bytes('gone'), '/dev/null', 0o600);
  expect((await stat('/dev/null')).isCharacterDevice()).toBe(true);
});

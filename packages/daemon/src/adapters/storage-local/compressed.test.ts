import { randomBytes } from 'node:crypto';
import { mkdtemp, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { packFile, unpackFile } from './compressed.ts';

const { signal } = new AbortController();
let dir = '';
const at = (name: string) => join(dir, name);
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'atoll-packed-'));
});
afterEach(() => rm(dir, { recursive: true }));

test('what is packed and unpacked is the same, with holes where zeros were, and small in between', async () => {
  const size = 64 * 1024 * 1024 + 123;
  {
    await using file = await open(at('memory'), 'w');
    await file.truncate(size);
    await file.write(randomBytes(300_000), 0, 300_000, 5_000_001);
    await file.write(Buffer.from('the end'), 0, 7, size - 7);
  }
  await packFile(at('memory'), at('packed'), signal);
  expect((await stat(at('packed'))).size).toBeLessThan(400_000);
  await unpackFile(at('packed'), at('again'), signal);
  expect((await readFile(at('again'))).equals(await readFile(at('memory')))).toBe(true);
  expect((await stat(at('again'))).blocks * 512).toBeLessThan(1_000_000);
});

test.each([0, 1, 65_536, 65_537])('a file of %i bytes comes back as it was', async (size) => {
  await writeFile(at('a'), randomBytes(size));
  await packFile(at('a'), at('packed'), signal);
  await unpackFile(at('packed'), at('b'), signal);
  expect((await readFile(at('b'))).equals(await readFile(at('a')))).toBe(true);
});

test('a packed file that lost its end or a byte is an error', async () => {
  await writeFile(at('a'), randomBytes(500_000));
  await packFile(at('a'), at('packed'), signal);
  const packed = await readFile(at('packed'));
  await writeFile(at('cut'), packed.subarray(0, packed.length - 1000));
  await expect(unpackFile(at('cut'), at('b'), signal)).rejects.toThrow();
  packed.writeUInt8(packed.readUInt8(200_000) ^ 1, 200_000);
  await writeFile(at('flipped'), packed);
  await expect(unpackFile(at('flipped'), at('c'), signal)).rejects.toThrow();
});

test('nothing is overwritten', async () => {
  await writeFile(at('a'), 'a');
  await writeFile(at('packed'), 'something');
  await expect(packFile(at('a'), at('packed'), signal)).rejects.toThrow('EEXIST');
});

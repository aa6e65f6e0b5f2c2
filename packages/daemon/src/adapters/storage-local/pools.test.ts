import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { poolStoreSuite } from '../../testing/suites/pools.ts';
import { LocalPools } from './pools.ts';

let dir = '';
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'atoll-pools-'));
});
afterEach(() => rm(dir, { recursive: true }));

poolStoreSuite('LocalPools', () => {
  const store = new LocalPools(dir);
  return { store, reopen: () => new LocalPools(dir) };
});

test.each([
  ['something else', '{"not": "a list"}', 'expected array'],
  ['a pool without its size', '[{"id": "small"}]', '0.vcpuCount'],
  ['half of itself', '[{"id": "small", "vcpu', 'JSON'],
  ['a comma too many, over two lines', '[{"id":\n"small",}]', 'JSON'],
  ['nothing', '', 'JSON'],
])(
  'a file that holds %s is refused in one line: its name, what is wrong, what to do',
  async (_, text, fault) => {
    const path = join(dir, 'pools.json');
    await writeFile(path, text);
    const refused = new LocalPools(dir).load();
    for (const part of [path, fault, 'move it away']) await expect(refused).rejects.toThrow(part);
    await expect(refused).rejects.not.toThrow('\n');
    // What can be mended stays as it is.
    expect(await readFile(path, 'utf8')).toBe(text);
  },
);

test('a file that cannot be read at all is not taken for a broken one', async () => {
  const path = join(dir, 'pools.json');
  await mkdir(path);
  await expect(new LocalPools(dir).load()).rejects.toThrow(`the pools of ${path} cannot be read`);
  await expect(new LocalPools(dir).load()).rejects.not.toThrow('move it away');
});

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
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

test('a file that holds something else is refused by its name', async () => {
  await writeFile(join(dir, 'pools.json'), '{"not": "a list"}');
  await expect(new LocalPools(dir).load()).rejects.toThrow(join(dir, 'pools.json'));
});

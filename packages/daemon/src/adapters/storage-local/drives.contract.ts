import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { drivesSuite } from '../../testing/suites/drives.ts';
import { LocalDrives } from './drives.ts';

// The byte of an ext4 superblock with the flag "needs recovery" (incompatible features, 0x4).
const FEATURES_AT = 1024 + 0x60;
const NEEDS_RECOVERY = 0x4;

drivesSuite('LocalDrives', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'atoll-drives-'));
  const store = new LocalDrives(join(dir, 'drives'));
  return {
    store,
    reopen: () => new LocalDrives(store.drivesDir),
    cutOff: async ({ path }) => {
      await using file = await open(path, 'r+');
      const features = Buffer.alloc(1);
      await file.read(features, 0, 1, FEATURES_AT);
      await file.write(Buffer.of(features.readUInt8() | NEEDS_RECOVERY), 0, 1, FEATURES_AT);
    },
    write: async ({ path }) => {
      await using file = await open(path, 'r+');
      await file.write(Buffer.of(1), 0, 1, 4 * 1024 * 1024);
    },
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  };
});

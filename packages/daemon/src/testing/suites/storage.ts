import { access } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Storage } from '../../ports/storage.ts';

export interface StorageUnderTest extends AsyncDisposable {
  readonly storage: Storage;
}

/** What every Storage keeps. */
export function storageSuite(name: string, setUp: () => Promise<StorageUnderTest>): void {
  describe(name, () => {
    const { signal } = new AbortController();
    let it: StorageUnderTest;
    let storage: Storage;
    beforeAll(async () => {
      it = await setUp();
      ({ storage } = it);
    });
    afterAll(() => it[Symbol.asyncDispose]());

    test('a machine has a directory of its own with a disk in it, until it is removed', async () => {
      const { dir, rootDisk } = await storage.createMachine('a', signal);
      await access(rootDisk);
      expect(dirname(dir)).toBe(storage.machinesDir);
      expect(await storage.listMachines()).toEqual(['a']);
      await storage.removeMachine('a');
      await expect(access(dir)).rejects.toThrow('ENOENT');
      expect(await storage.listMachines()).toEqual([]);
      await storage.removeMachine('a');
    });

    test('an id that is taken is refused, and what is there stays', async () => {
      const { rootDisk } = await storage.createMachine('b', signal);
      await expect(storage.createMachine('b', signal)).rejects.toThrow('EEXIST');
      await access(rootDisk);
      await storage.removeMachine('b');
    });

    test('what was given up leaves nothing', async () => {
      const given = AbortSignal.abort(new Error('given up'));
      await expect(storage.createMachine('c', given)).rejects.toThrow('given up');
      expect(await storage.listMachines()).toEqual([]);
    });

    test('there is room', async () => {
      expect(await storage.freeBytes()).toBeGreaterThan(0);
    });
  });
}

import { randomUUID } from 'node:crypto';
import { access } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { DriveStore, StoredDrive } from '../../ports/drives.ts';

export interface DrivesUnderTest extends AsyncDisposable {
  readonly store: DriveStore;
  /** Another store on what this one has, as after a restart. */
  readonly reopen: () => DriveStore;
  /** Leaves a drive as a writer does that is cut off. */
  readonly cutOff: (drive: StoredDrive) => Promise<void>;
  readonly write: (drive: StoredDrive) => Promise<void>;
}

/** What every DriveStore keeps. */
export function drivesSuite(name: string, setUp: () => Promise<DrivesUnderTest>): void {
  describe(name, () => {
    const { signal } = new AbortController();
    let it: DrivesUnderTest;
    beforeEach(async () => {
      it = await setUp();
      expect(await it.store.load()).toEqual([]);
    });
    afterEach(() => it[Symbol.asyncDispose]());

    const create = (sizeMib: number) => it.store.create({ id: randomUUID(), label: 'a', sizeMib }, signal);

    test('a drive outlives a restart, until it is removed', async () => {
      const [small, large] = [await create(8), await create(1024 * 1024)];
      expect(small.sizeMib).toBe(8);
      expect(Math.abs(small.createdAtUnix - Date.now() / 1000)).toBeLessThan(60);
      await access(large.path);
      const again = it.reopen();
      expect(new Set(await again.load())).toEqual(new Set([small, large]));
      await again.remove(large);
      await again.remove(large);
      expect(await it.reopen().load()).toEqual([small]);
      await expect(access(large.path)).rejects.toThrow('ENOENT');
    });

    test('the next start finds them oldest first', async () => {
      const drives: StoredDrive[] = [];
      for (let count = 0; count < 6; count++) drives.push(await create(8));
      expect(await it.reopen().load()).toEqual(drives);
    });

    test('a new drive can be read at once, and one whose writer was cut off cannot', async () => {
      const [whole, torn] = [await create(8), await create(8)];
      await it.cutOff(torn);
      expect(await it.store.needsRecovery(whole)).toBe(false);
      expect(await it.store.needsRecovery(torn)).toBe(true);
    });

    test('the mark of its content changes with what is written, and with nothing else', async () => {
      const [drive, other] = [await create(8), await create(8)];
      const before = await it.store.contentMark(drive);
      await it.store.needsRecovery(drive);
      await it.write(other);
      expect(await it.store.contentMark(drive)).toBe(before);
      await it.write(drive);
      expect(await it.store.contentMark(drive)).not.toBe(before);
    });

    test('what was given up leaves nothing', async () => {
      const given = AbortSignal.abort(new Error('given up'));
      const drive = { id: randomUUID(), label: 'a', sizeMib: 8 };
      await expect(it.store.create(drive, given)).rejects.toThrow('given up');
      expect(await it.reopen().load()).toEqual([]);
    });
  });
}

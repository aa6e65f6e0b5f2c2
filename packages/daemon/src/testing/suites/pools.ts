import { describe, expect, test } from 'vitest';
import type { PoolStore } from '../../ports/pools.ts';

const spec = { id: 'a', imageId: undefined, vcpuCount: 1, memSizeMib: 64, warmCount: 2, maxCount: undefined };

/** What every PoolStore keeps. `reopen` answers the store as the next run finds it. */
export function poolStoreSuite(
  name: string,
  setUp: () => { store: PoolStore; reopen: () => PoolStore },
): void {
  describe(name, () => {
    test('has nothing at first, and then what was saved last', async () => {
      const { store, reopen } = setUp();
      expect(await store.load()).toEqual([]);
      await store.save([spec, { ...spec, id: 'b', imageId: 'i', maxCount: 3 }]);
      expect(await reopen().load()).toEqual([spec, { ...spec, id: 'b', imageId: 'i', maxCount: 3 }]);
      await store.save([]);
      expect(await reopen().load()).toEqual([]);
    });
  });
}

import type { PoolSpec, PoolStore } from '../ports/pools.ts';

/** Pools' settings in memory. */
export class FakePools implements PoolStore {
  #kept: readonly PoolSpec[] = [];

  load(): Promise<readonly PoolSpec[]> {
    return Promise.resolve(this.#kept);
  }

  save(pools: readonly PoolSpec[]): Promise<void> {
    this.#kept = [...pools];
    return Promise.resolve();
  }
}

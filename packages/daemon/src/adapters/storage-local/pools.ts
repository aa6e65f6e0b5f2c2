import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { PoolSpec, PoolStore } from '../../ports/pools.ts';

const Kept = z.array(
  z.object({
    id: z.string(),
    imageId: z.string().optional(),
    vcpuCount: z.int(),
    memSizeMib: z.int(),
    warmCount: z.int(),
    maxCount: z.int().optional(),
  }),
);

/** The pools' settings in one file: `<state dir>/pools.json`. */
export class LocalPools implements PoolStore {
  readonly #path: string;

  constructor(stateDir: string) {
    this.#path = join(stateDir, 'pools.json');
  }

  /** Rejects, naming the file, when it holds something else. */
  async load(): Promise<readonly PoolSpec[]> {
    try {
      const pools = Kept.parse(JSON.parse(await readFile(this.#path, 'utf8')));
      return pools.map((pool) => ({ ...pool, imageId: pool.imageId, maxCount: pool.maxCount }));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw new Error(`${this.#path} is not a list of pools: mend it or remove it`, { cause: error });
    }
  }

  async save(pools: readonly PoolSpec[]): Promise<void> {
    const draft = `${this.#path}.new`;
    await writeFile(draft, JSON.stringify(pools), { flush: true });
    await rename(draft, this.#path);
  }
}

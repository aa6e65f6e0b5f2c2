import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { isErrno, reasonOf } from '../../lib/errors.ts';
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

  /** Rejects, naming the file and what is wrong with it, when it cannot be read or holds something else. */
  async load(): Promise<readonly PoolSpec[]> {
    const kept = await this.#read();
    if (kept === undefined) return [];
    const pools = poolsOf(kept);
    // Going on without would write a list that lacks all of them at the next change.
    if (typeof pools === 'string')
      throw new Error(
        `the pools of ${this.#path} cannot be read (${pools}): mend the file, or move it away to start without pools`,
      );
    return pools.map((pool) => ({ ...pool, imageId: pool.imageId, maxCount: pool.maxCount }));
  }

  async save(pools: readonly PoolSpec[]): Promise<void> {
    const draft = `${this.#path}.new`;
    await writeFile(draft, JSON.stringify(pools), { flush: true });
    await rename(draft, this.#path);
  }

  async #read(): Promise<string | undefined> {
    try {
      return await readFile(this.#path, 'utf8');
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return undefined;
      throw new Error(`the pools of ${this.#path} cannot be read`, { cause: error });
    }
  }
}

/** The pools that a text lists, or what is wrong with it, in one line. */
function poolsOf(text: string): z.output<typeof Kept> | string {
  try {
    return Kept.parse(JSON.parse(text));
  } catch (error) {
    return faultOf(error);
  }
}

function faultOf(error: unknown): string {
  const [issue] = error instanceof z.ZodError ? error.issues : [];
  // What JSON.parse says quotes the text, line breaks and all.
  if (issue === undefined) return reasonOf(error).replaceAll(/\s+/g, ' ');
  return issue.path.length === 0 ? issue.message : `${issue.path.join('.')}: ${issue.message}`;
}

import type { GetOrCreate } from '@atoll/contract/sandboxes';
import { AtollError } from '../lib/errors.ts';
import { KeyedLock } from '../lib/keyed-lock.ts';
import type { Registry } from './registry.ts';
import type { Restores } from './restores.ts';
import type { Sandboxes } from './sandboxes.ts';

/** Finds what goes by a name, and has it if it is not there. */
export class Names {
  readonly #registry: Registry;
  readonly #sandboxes: Sandboxes;
  readonly #restores: Restores;
  readonly #locks = new KeyedLock();

  constructor(registry: Registry, sandboxes: Sandboxes, restores: Restores) {
    this.#registry = registry;
    this.#sandboxes = sandboxes;
    this.#restores = restores;
  }

  /** Id of the live sandbox of a name. Throws NOT_FOUND, or NAME_HELD_BY_SNAPSHOT. */
  find(name: string): string {
    const holder = this.#registry.holderOf(name);
    if (holder === undefined) throw AtollError.of('NOT_FOUND', { kind: 'sandbox', id: name });
    if (holder.kind === 'snapshot')
      throw AtollError.of('NAME_HELD_BY_SNAPSHOT', { name, snapshot: holder.id });
    return holder.id;
  }

  /**
   * The live sandbox of a name; else the one that its held snapshot is resumed to; else a new one, as the rest of the request says.
   * One call at a time for each name, so of many for a new name one creates.
   */
  getOrCreate(request: GetOrCreate, signal: AbortSignal): Promise<{ id: string; created: boolean }> {
    const { name } = request;
    return this.#locks.run(name, async () => {
      for (;;) {
        signal.throwIfAborted();
        const holder = this.#registry.holderOf(name);
        if (holder === undefined) {
          const { id } = await this.#sandboxes.create(request, signal);
          return { id, created: true };
        }
        if (holder.kind === 'snapshot') {
          const { id } = await this.#restores.resume(holder.id, { retain: true, fresh: false }, signal);
          return { id, created: false };
        }
        if (holder.state === 'live') return { id: holder.id, created: false };
        // It starts, or is being suspended or destroyed: each ends by its own deadline.
        await this.#registry.moved(holder.id, signal);
      }
    });
  }
}

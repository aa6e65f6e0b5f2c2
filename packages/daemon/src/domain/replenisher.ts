import type { Logger } from 'pino';
import { reasonOf } from '../lib/errors.ts';
import type { PoolSpec } from '../ports/pools.ts';
import type { Pool } from './pool.ts';
import type { Pools } from './pools.ts';
import { WarmInstance } from './warm-instance.ts';
import type { WarmSource } from './warm-instance.ts';

/** The contract's. */
const CHECK_MS = 2000;
const LONGEST_PAUSE_MS = 60_000;

/** Makes instances. */
export interface WarmWorks extends WarmSource {
  /** Boots an instance of a pool, freezes it, and answers the id of its snapshot. */
  freeze(pool: PoolSpec, signal: AbortSignal): Promise<string>;
  /** What earlier runs froze and nobody claimed. */
  left(): readonly { readonly poolId: string; readonly snapshotId: string }[];
}

/**
 * Keeps pools filled: looks every two seconds, and when something changed, whether one wants more, makes one instance at a time for
 * each, and keeps some of what is ready loaded. A pool whose instances fail is left alone for a while that doubles.
 */
export class Replenisher {
  readonly #pools: Pools;
  readonly #works: WarmWorks;
  readonly #standby: number;
  readonly #log: Logger;
  readonly #stop = new AbortController();
  readonly #filling = new Map<Pool, Promise<void>>();
  readonly #pausedUntil = new Map<Pool, { readonly at: number; readonly ms: number }>();
  #timer: NodeJS.Timeout | undefined;

  /** @param standby how many instances of each pool are kept loaded. */
  constructor(pools: Pools, works: WarmWorks, standby: number, log: Logger) {
    this.#pools = pools;
    this.#works = works;
    this.#standby = standby;
    this.#log = log;
  }

  /** Puts back what earlier runs left ready, and removes what no pool wants. */
  async adopt(): Promise<void> {
    for (const { poolId, snapshotId } of this.#works.left()) {
      const pool = this.#pools.get(poolId);
      if (pool?.adopt(new WarmInstance(snapshotId, this.#works)) !== true)
        await this.#works.remove(snapshotId);
    }
  }

  start(): void {
    this.#pools.onChange = () => this.#check();
    this.#timer = setInterval(() => this.#check(), CHECK_MS);
    this.#check();
  }

  /** Makes no more, and ends the machines of what is ready; their snapshots stay for the next start. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#pools.onChange = () => undefined;
    this.#stop.abort(new Error('the daemon is shutting down'));
    await Promise.all(this.#filling.values());
    const ready = this.#pools.list().flatMap((pool) => pool.ready);
    await Promise.all(ready.map((instance) => instance.unload()));
  }

  #check(): void {
    if (this.#stop.signal.aborted) return;
    for (const pool of this.#pools.list()) {
      if (pool.shortage > 0 && !this.#filling.has(pool) && !this.#isPaused(pool)) {
        this.#filling.set(pool, this.#fill(pool));
      }
      this.#keepLoaded(pool);
    }
  }

  async #fill(pool: Pool): Promise<void> {
    pool.beginWarming();
    try {
      const instance = new WarmInstance(await this.#works.freeze(pool.spec, this.#stop.signal), this.#works);
      this.#pausedUntil.delete(pool);
      if (!pool.warmed(instance)) await this.#pools.discard(pool, instance);
    } catch (error) {
      pool.notWarmed();
      if (!this.#stop.signal.aborted) this.#pause(pool, error);
    } finally {
      this.#filling.delete(pool);
      setImmediate(() => this.#check());
    }
  }

  #keepLoaded(pool: Pool): void {
    const missing = this.#standby - pool.ready.filter(({ isLoading }) => isLoading).length;
    const next = pool.ready.filter(({ isLoading }) => !isLoading).slice(0, Math.max(0, missing));
    for (const instance of next) void this.#load(pool, instance);
  }

  async #load(pool: Pool, instance: WarmInstance): Promise<void> {
    try {
      const { exited } = await instance.load();
      void exited.then((reason) => this.#giveUp(pool, instance, reason));
    } catch (error) {
      await this.#giveUp(pool, instance, reasonOf(error));
    }
  }

  /** Whoever claims an instance that went bad finds out for himself. */
  async #giveUp(pool: Pool, instance: WarmInstance, reason: string): Promise<void> {
    if (this.#stop.signal.aborted || !pool.drop(instance)) return;
    const { snapshotId } = instance;
    this.#log.warn({ pool_id: pool.spec.id, snapshot_id: snapshotId, reason }, 'warm instance given up');
    await this.#pools.discard(pool, instance);
    this.#check();
  }

  #isPaused(pool: Pool): boolean {
    return performance.now() < (this.#pausedUntil.get(pool)?.at ?? 0);
  }

  #pause(pool: Pool, error: unknown): void {
    const ms = Math.min(LONGEST_PAUSE_MS, 2 * (this.#pausedUntil.get(pool)?.ms ?? CHECK_MS / 2));
    this.#pausedUntil.set(pool, { at: performance.now() + ms, ms });
    this.#log.error(
      { pool_id: pool.spec.id, retry_in_ms: ms, reason: reasonOf(error) },
      'no warm instance could be made',
    );
  }
}

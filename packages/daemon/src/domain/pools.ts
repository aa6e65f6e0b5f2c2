import type { CreatePool } from '@atoll/contract/pools';
import type { Logger } from 'pino';
import { Deadline } from '../lib/deadline.ts';
import { AtollError, reasonOf } from '../lib/errors.ts';
import type { PoolStore } from '../ports/pools.ts';
import { MIN_MEM_SIZE_MIB, within } from './admission.ts';
import type { Sizes } from './admission.ts';
import { Pool } from './pool.ts';
import type { Slot } from './pool.ts';
import type { Running, Sandbox } from './sandbox.ts';
import type { WarmInstance } from './warm-instance.ts';

/** Brings a sandbox up. */
export type Launch = (sandbox: Sandbox, deadline: Deadline) => Promise<Running>;

// A claim takes some 50 ms, and some seconds on a host that is as busy as can be; then a boot is the better bet.
const CLAIM_MS = 10_000;
// What takes the place of a claimed instance boots, and would take the processors from its claimer's first command.
const BREATH_MS = 250;
const HEALTH_CHECK = { command: 'true', args: [], env: {} };

export interface PoolsOptions {
  readonly store: PoolStore;
  /** Throws NOT_FOUND for an image that is not registered. */
  readonly assertImage: (id: string) => void;
  readonly sizes: Sizes;
  /** Machines are jailed: nothing can be frozen, so nothing is kept warm. */
  readonly jailed: boolean;
  readonly log: Logger;
}

/** The pools: their settings, and the creates they serve. What keeps them filled is the Replenisher. */
export class Pools {
  readonly #byId = new Map<string, Pool>();
  readonly #store: PoolStore;
  readonly #assertImage: (id: string) => void;
  readonly #sizes: Sizes;
  readonly #jailed: boolean;
  readonly #log: Logger;
  /** Told when a pool may want more. */
  onChange: () => void = () => undefined;

  constructor({ store, assertImage, sizes, jailed, log }: PoolsOptions) {
    this.#store = store;
    this.#assertImage = assertImage;
    this.#sizes = sizes;
    this.#jailed = jailed;
    this.#log = log;
  }

  /** Brings back the pools of earlier runs, still empty. */
  async restore(): Promise<void> {
    for (const spec of await this.#store.load()) {
      this.#byId.set(spec.id, new Pool(spec));
      if (this.#jailed && spec.warmCount > 0)
        this.#log.warn(
          { pool_id: spec.id, warm_count: spec.warmCount },
          'this pool is not kept warm: a jailed sandbox is not snapshotted (SERVICE_JAILER_ENABLED)',
        );
    }
  }

  /**
   * Throws POOL_EXISTS, NOT_FOUND for its image, and INVALID_REQUEST for a size beyond the ceilings, or for a pool to be kept warm where
   * machines are jailed.
   */
  async create(request: CreatePool): Promise<Pool> {
    const { id } = request;
    if (this.#jailed && request.warm_count > 0) {
      const problem =
        'takes 0 while SERVICE_JAILER_ENABLED is on: a pool is kept warm by snapshots, and a jailed sandbox has none';
      throw AtollError.of('INVALID_REQUEST', { field: 'warm_count', problem });
    }
    if (this.#byId.has(id)) throw AtollError.of('POOL_EXISTS', { id });
    if (request.image_id !== undefined) this.#assertImage(request.image_id);
    const { vcpuCount, maxVcpuCount, memSizeMib, maxMemSizeMib } = this.#sizes;
    const pool = new Pool({
      id,
      imageId: request.image_id,
      vcpuCount: within('vcpu_count', request.vcpu_count ?? vcpuCount, 1, maxVcpuCount),
      memSizeMib: within('mem_size_mib', request.mem_size_mib ?? memSizeMib, MIN_MEM_SIZE_MIB, maxMemSizeMib),
      warmCount: request.warm_count,
      maxCount: request.max_count,
    });
    // Its id is taken before anybody can ask for it again.
    this.#byId.set(id, pool);
    try {
      await this.#save();
    } catch (error) {
      this.#byId.delete(id);
      throw error;
    }
    this.onChange();
    return pool;
  }

  /** In the order of their making. */
  list(): readonly Pool[] {
    return [...this.#byId.values()];
  }

  get(id: string): Pool | undefined {
    return this.#byId.get(id);
  }

  /** Ends a pool with all that it has ready; sandboxes it served live on. Throws NOT_FOUND. */
  async remove(id: string): Promise<void> {
    const pool = this.#byId.get(id);
    if (pool === undefined) throw AtollError.of('NOT_FOUND', { kind: 'pool', id });
    this.#byId.delete(id);
    await this.#save();
    await Promise.all(pool.close().map((instance) => this.discard(pool, instance)));
  }

  /**
   * Starts a sandbox, by a pool if one has its profile: warm where something is ready, and then under that instance's id, else by
   * `cold`, which may have to wait for a place. The place is the sandbox's until its resources are given back. Throws
   * POOL_EXHAUSTED.
   */
  async launch(
    sandbox: Sandbox,
    env: Readonly<Record<string, string>>,
    cold: Launch,
    start: (sandbox: Sandbox, launch: Launch) => Promise<Sandbox>,
    signal: AbortSignal,
  ): Promise<Sandbox> {
    const pool = this.#matching(sandbox);
    if (pool === undefined) return start(sandbox, cold);
    const slot = await pool.enter(signal);
    const progress = { touched: false };
    try {
      const id = slot.warm?.sandboxId ?? sandbox.id;
      return await start({ ...sandbox, id }, async (claimer, deadline) => {
        progress.touched = true;
        const running =
          (await this.#wake(pool, slot, claimer, env, deadline)) ?? (await cold(claimer, deadline));
        setTimeout(() => this.onChange(), BREATH_MS).unref();
        return { ...running, resources: this.#withSlot(running.resources, slot) };
      });
    } catch (error) {
      slot.leave();
      // Its name was taken, for one: nobody has touched the instance.
      if (!progress.touched && slot.warm !== undefined && !pool.adopt(slot.warm))
        await this.discard(pool, slot.warm);
      this.onChange();
      throw error;
    }
  }

  /** Ends an instance that is of no use. What cannot be removed is logged, and found again by the next start. */
  async discard({ spec }: Pool, instance: WarmInstance): Promise<void> {
    try {
      await instance.discard();
    } catch (error) {
      const { snapshotId } = instance;
      this.#log.error(
        { pool_id: spec.id, snapshot_id: snapshotId, reason: reasonOf(error) },
        'warm instance not removed',
      );
    }
  }

  /** A sandbox of what is warm, if there is something and it is well. */
  async #wake(
    pool: Pool,
    { warm }: Slot,
    sandbox: Sandbox,
    env: Readonly<Record<string, string>>,
    whole: Deadline,
  ): Promise<Running | undefined> {
    if (warm === undefined) return undefined;
    try {
      using deadline = Deadline.in(CLAIM_MS, 'the claim', whole.signal);
      const running = await warm.claim(sandbox, env, deadline);
      try {
        const { exitCode } = await running.agent.exec(HEALTH_CHECK, () => undefined, deadline.signal);
        if (exitCode !== 0) throw new Error(`its health check ended with ${exitCode}`);
      } catch (error) {
        await running.resources.disposeAsync();
        throw error;
      }
      // Used up; what is left of it is in nobody's way.
      void this.discard(pool, warm);
      return running;
    } catch (error) {
      // A boot goes by the same id, and so would the files of a machine that is still being loaded.
      await this.discard(pool, warm);
      whole.signal.throwIfAborted();
      this.#log.warn(
        {
          pool_id: pool.spec.id,
          snapshot_id: warm.snapshotId,
          sandbox_id: sandbox.id,
          reason: reasonOf(error),
        },
        'warm instance is no good: booting instead',
      );
      return undefined;
    }
  }

  #withSlot(resources: AsyncDisposableStack, slot: Slot): AsyncDisposableStack {
    const all = new AsyncDisposableStack();
    all.defer(() => {
      slot.leave();
      this.onChange();
    });
    all.use(resources);
    return all;
  }

  /** The pool that has a sandbox's profile; of several one that has something ready. Drives and limits are none's profile. */
  #matching({ vcpuCount, memSizeMib, imageId, drives, rateLimit }: Sandbox): Pool | undefined {
    if (drives.length > 0 || rateLimit !== undefined) return undefined;
    const fit = this.list().filter(
      ({ spec }) =>
        spec.vcpuCount === vcpuCount && spec.memSizeMib === memSizeMib && spec.imageId === imageId,
    );
    return fit.find(({ warmReady }) => warmReady > 0) ?? fit[0];
  }

  #save(): Promise<void> {
    return this.#store.save(this.list().map(({ spec }) => spec));
  }
}

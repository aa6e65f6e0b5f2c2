import { AtollError } from '../lib/errors.ts';
import type { PoolSpec } from '../ports/pools.ts';
import type { WarmInstance } from './warm-instance.ts';

/** The contract's: how long a create waits at a pool that is full, with nothing warm. */
export const QUEUE_MS = 30_000;

/** A place in a pool, for one sandbox, from before it starts until it has ended. */
export interface Slot {
  /** What to wake; undefined: the sandbox has to be booted. */
  readonly warm: WarmInstance | undefined;
  /** Gives the place back. Harmless when it is given back already. */
  leave(): void;
}

interface Waiter {
  readonly admit: (slot: Slot) => void;
}

/**
 * One pool's bookkeeping: what is ready, how many are being made, how many places are taken, and who waits for one. Those who
 * wait come first, in order of arrival.
 */
export class Pool {
  readonly spec: PoolSpec;
  readonly #ready: WarmInstance[] = [];
  readonly #waiting: Waiter[] = [];
  #warming = 0;
  #claimed = 0;
  #closed = false;

  constructor(spec: PoolSpec) {
    this.spec = spec;
  }

  get warmReady(): number {
    return this.#ready.length;
  }

  get claimed(): number {
    return this.#claimed;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** What is ready, the next to be claimed first. */
  get ready(): readonly WarmInstance[] {
    return this.#ready;
  }

  /** Takes a place, with a warm instance where there is one. Waits while the pool is full; throws POOL_EXHAUSTED after QUEUE_MS. */
  async enter(signal: AbortSignal): Promise<Slot> {
    signal.throwIfAborted();
    if (this.#waiting.length === 0) {
      const slot = this.#admit();
      if (slot !== undefined) return slot;
    }
    return this.#wait(signal);
  }

  /** How many more instances are to be made now. None beyond the ceiling, and none while someone waits for the place. */
  get shortage(): number {
    if (this.#closed || this.#waiting.length > 0) return 0;
    const wanted = this.spec.warmCount - this.#ready.length - this.#warming;
    return Math.max(0, Math.min(wanted, this.#room));
  }

  /** Takes a place for an instance that is being made: `warmed` or `notWarmed` is to follow. */
  beginWarming(): void {
    this.#warming += 1;
  }

  /** An instance is ready. Answers false, and does not take it, when the pool has been closed meanwhile. */
  warmed(instance: WarmInstance): boolean {
    this.#warming -= 1;
    return this.adopt(instance);
  }

  /** None came of the making of an instance. */
  notWarmed(): void {
    this.#warming -= 1;
    this.#serve();
  }

  /** Takes an instance that is ready. Answers false when the pool has been closed. */
  adopt(instance: WarmInstance): boolean {
    if (this.#closed) return false;
    this.#ready.push(instance);
    this.#serve();
    return true;
  }

  /** Takes an instance that went bad out of what is ready. Answers false when it was claimed before. */
  drop(instance: WarmInstance): boolean {
    const at = this.#ready.indexOf(instance);
    if (at === -1) return false;
    this.#ready.splice(at, 1);
    this.#serve();
    return true;
  }

  /** Ends the pool. Those who wait boot as if there were none. Answers what was ready. */
  close(): readonly WarmInstance[] {
    this.#closed = true;
    for (const { admit } of this.#waiting.splice(0)) admit({ warm: undefined, leave: () => undefined });
    return this.#ready.splice(0);
  }

  get #room(): number {
    const { maxCount = Infinity } = this.spec;
    return maxCount - this.#claimed - this.#ready.length - this.#warming;
  }

  /** A place, if there is one now. One that is loaded already is claimed before one that is not. */
  #admit(): Slot | undefined {
    const at = Math.max(
      0,
      this.#ready.findIndex(({ isLoaded }) => isLoaded),
    );
    const [warm] = this.#ready.splice(at, 1);
    if (warm === undefined && this.#room <= 0) return undefined;
    this.#claimed += 1;
    let held = true;
    const leave = () => {
      if (!held) return;
      held = false;
      this.#claimed -= 1;
      this.#serve();
    };
    return { warm, leave };
  }

  #serve(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const slot = this.#admit();
      if (slot === undefined) return;
      this.#waiting.shift();
      next.admit(slot);
    }
  }

  async #wait(signal: AbortSignal): Promise<Slot> {
    const { promise, resolve, reject } = Promise.withResolvers<Slot>();
    const waiter: Waiter = { admit: resolve };
    this.#waiting.push(waiter);
    const leave = (reason: unknown) => {
      const at = this.#waiting.indexOf(waiter);
      if (at !== -1) this.#waiting.splice(at, 1);
      reject(reason);
    };
    const { id, maxCount = 0 } = this.spec;
    const timer = setTimeout(
      () => leave(AtollError.of('POOL_EXHAUSTED', { pool: id, max: maxCount, waitedMs: QUEUE_MS })),
      QUEUE_MS,
    );
    const onAbort = () => leave(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
  }
}

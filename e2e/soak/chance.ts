/** Chance that a seed repeats: mulberry32, of which 32 bits are enough for a test. */
export class Chance {
  readonly seed: number;
  #state: number;

  constructor(seed: number) {
    this.seed = seed;
    this.#state = seed >>> 0;
  }

  /** From 0 up to, but not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer from 0 to below this. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  /** True this often, of 1. */
  happens(share: number): boolean {
    return this.next() < share;
  }

  /** One of these; undefined when there is none. */
  pick<T>(among: readonly T[]): T | undefined {
    return among[this.below(among.length)];
  }
}

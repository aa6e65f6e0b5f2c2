/** Random choices that another run can make again: ATOLL_FUZZ_SEED names the seed that a failure said. */
export class Random {
  readonly said: string;
  #state: number;

  private constructor(seed: number) {
    this.said = `ATOLL_FUZZ_SEED=${seed}`;
    this.#state = seed;
  }

  static seeded(): Random {
    return new Random(Number(process.env.ATOLL_FUZZ_SEED ?? 20_250_101));
  }

  /** An integer from 0 to below that. */
  below(limit: number): number {
    return Math.floor(this.#next() * limit);
  }

  pick<T>(choices: readonly T[]): T {
    const choice = choices[this.below(choices.length)];
    if (choice === undefined) throw new Error('nothing to choose from');
    return choice;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }

  /** From 0 to below 1, by mulberry32: 32 bits of state, which are enough for tests. */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}

interface Waiting<T> {
  readonly item: T;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Does work of one kind together: what comes while a batch is under way makes the next one. Where each piece would start a
 * process, sixty-four at once start two. A batch that fails fails for all of its pieces.
 */
export class Batch<T> {
  readonly #run: (items: readonly T[]) => Promise<void>;
  readonly #weigh: (item: T) => number;
  readonly #limit: number;
  readonly #waiting: Waiting<T>[] = [];
  #running = false;

  /** @param limit what a batch may weigh; a single piece may weigh more. */
  constructor(
    run: (items: readonly T[]) => Promise<void>,
    limit: number,
    weigh: (item: T) => number = () => 1,
  ) {
    this.#run = run;
    this.#limit = limit;
    this.#weigh = weigh;
  }

  /** Answers when the piece is done. */
  add(item: T): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#running) void this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#running = true;
    while (this.#waiting.length > 0) {
      const batch = this.#take();
      try {
        await this.#run(batch.map(({ item }) => item));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#running = false;
  }

  #take(): Waiting<T>[] {
    let weight = 0;
    const end = this.#waiting.findIndex(({ item }, place) => {
      weight += this.#weigh(item);
      return place > 0 && weight > this.#limit;
    });
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
  }
}

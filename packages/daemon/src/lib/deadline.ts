/** Thrown when a wait reaches its deadline. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
  constructor(what: string, ms: number) {
    super(`${what} took longer than ${ms} ms`);
  }
}

/** An absolute end for a piece of work, and the signal that tells those who do it. Every wait has one. */
export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #parents: readonly AbortSignal[];

  private constructor(ms: number, what: string, parents: readonly AbortSignal[]) {
    this.#parents = parents;
    this.#timer = setTimeout(() => this.#controller.abort(new DeadlineError(what, ms)), ms);
    for (const parent of parents) {
      if (parent.aborted) this.#follow(parent);
      else parent.addEventListener('abort', this.#onParent, { once: true });
    }
  }

  /** @param ms milliseconds from now; @param what the work, as a noun phrase for the error; @param parents end it early. */
  static in(ms: number, what: string, ...parents: AbortSignal[]): Deadline {
    return new Deadline(ms, what, parents);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Waits for the promise, but not beyond the deadline. The promise itself goes on: whoever made it cleans up. */
  async race<T>(promise: Promise<T>): Promise<T> {
    const { signal } = this;
    signal.throwIfAborted();
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await Promise.race([promise, aborted]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    for (const parent of this.#parents) parent.removeEventListener('abort', this.#onParent);
  }

  readonly #onParent = (event: Event) => this.#follow(event.target as AbortSignal);

  #follow(parent: AbortSignal): void {
    this.#controller.abort(parent.reason);
  }
}

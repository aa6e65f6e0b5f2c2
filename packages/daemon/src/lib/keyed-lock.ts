/** Lets one at a time through for each key; the others wait in order of arrival. */
export class KeyedLock {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Does the work when nobody else does any under this key. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const { promise: mine, resolve: leave } = Promise.withResolvers<undefined>();
    const last = before.then(() => mine);
    this.#last.set(key, last);
    await before;
    try {
      return await work();
    } finally {
      leave(undefined);
      if (this.#last.get(key) === last) this.#last.delete(key);
    }
  }
}

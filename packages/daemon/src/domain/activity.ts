interface Entry {
  open: number;
  lastMs: number;
}

/** When each sandbox was last of use: by a call to its guest, or by a stream that is open. */
export class Activity {
  readonly #entries = new Map<string, Entry>();

  /** Marks a sandbox as in use until the answer is disposed of. */
  begin(id: string): Disposable {
    const entry = this.#entries.get(id) ?? { open: 0, lastMs: 0 };
    this.#entries.set(id, entry);
    entry.open += 1;
    let open = true;
    return {
      [Symbol.dispose]: () => {
        if (!open) return;
        open = false;
        entry.open -= 1;
        entry.lastMs = performance.now();
      },
    };
  }

  /** Milliseconds since a sandbox was last in use: 0 while it is, undefined when it never was. */
  idleMs(id: string): number | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    return entry.open > 0 ? 0 : performance.now() - entry.lastMs;
  }

  /** Forgets a sandbox that is gone. */
  forget(id: string): void {
    this.#entries.delete(id);
  }
}

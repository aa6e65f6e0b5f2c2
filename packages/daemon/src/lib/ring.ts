/** Keeps the newest bytes of a stream, at most `capacity` of them, in one buffer of that size. */
export class Ring {
  readonly #bytes: Buffer;
  #written = 0;

  constructor(capacity: number) {
    this.#bytes = Buffer.alloc(capacity);
  }

  push(chunk: Uint8Array): void {
    const capacity = this.#bytes.length;
    const tail = chunk.subarray(Math.max(0, chunk.length - capacity));
    const start = (this.#written + chunk.length - tail.length) % capacity;
    const first = tail.subarray(0, capacity - start);
    this.#bytes.set(first, start);
    this.#bytes.set(tail.subarray(first.length), 0);
    this.#written += chunk.length;
  }

  /** How many bytes no longer are in the ring. */
  get dropped(): number {
    return Math.max(0, this.#written - this.#bytes.length);
  }

  /** What the ring holds, oldest first, as a copy. */
  contents(): Buffer {
    const capacity = this.#bytes.length;
    if (this.#written <= capacity) return Buffer.from(this.#bytes.subarray(0, this.#written));
    const start = this.#written % capacity;
    return Buffer.concat([this.#bytes.subarray(start), this.#bytes.subarray(0, start)]);
  }
}

// Most streams are short: the buffer begins at this size and doubles.
const FIRST_BYTES = 4096;

/** Keeps the newest bytes of a stream, at most `capacity` of them, in one buffer that grows up to that size. */
export class Ring {
  readonly #capacity: number;
  #bytes: Buffer;
  #written = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#bytes = Buffer.alloc(Math.min(capacity, FIRST_BYTES));
  }

  push(chunk: Uint8Array): void {
    this.#makeRoom(this.#written + chunk.length);
    const size = this.#bytes.length;
    const tail = chunk.subarray(Math.max(0, chunk.length - size));
    const start = (this.#written + chunk.length - tail.length) % size;
    const first = tail.subarray(0, size - start);
    this.#bytes.set(first, start);
    this.#bytes.set(tail.subarray(first.length), 0);
    this.#written += chunk.length;
  }

  /** How many bytes there were. */
  get written(): number {
    return this.#written;
  }

  /** How many bytes no longer are in the ring. */
  get dropped(): number {
    return Math.max(0, this.#written - this.#bytes.length);
  }

  /** A copy of the bytes from this place of the stream on, at most so many. Those before `dropped` are gone. */
  read(from: number, atMost: number): Buffer {
    const size = this.#bytes.length;
    const length = Math.min(atMost, this.#written - from);
    const start = from % size;
    const first = this.#bytes.subarray(start, Math.min(size, start + length));
    return Buffer.concat([first, this.#bytes.subarray(0, length - first.length)], length);
  }

  /** What the ring holds, oldest first, as a copy. */
  contents(): Buffer {
    return this.read(this.dropped, this.#capacity);
  }

  /** Before the buffer has its full size nothing is dropped, so its bytes stand in order. */
  #makeRoom(length: number): void {
    let size = this.#bytes.length;
    if (size >= this.#capacity || length <= size) return;
    while (size < length && size < this.#capacity) size = Math.min(this.#capacity, size * 2);
    const grown = Buffer.alloc(size);
    grown.set(this.#bytes.subarray(0, this.#written));
    this.#bytes = grown;
  }
}

// RFC 6455, 5.2: two bytes, then a longer length where the seven bits of the second say so, then a key where its first bit does.
const HEAD_BYTES = 2;
const LENGTH_16 = 126;
const LENGTH_64 = 127;
const KEY_BYTES = 4;

/** Follows the frames of a WebSocket as they pass, to know when one may be put between two of them. */
export class FrameBoundary {
  #head: Buffer = Buffer.alloc(0);
  #left = 0;

  /** True between two frames. */
  get isHere(): boolean {
    return this.#left === 0 && this.#head.length === 0;
  }

  push(chunk: Buffer): void {
    let bytes = chunk;
    while (bytes.length > 0) {
      if (this.#left > 0) {
        const passed = Math.min(this.#left, bytes.length);
        this.#left -= passed;
        bytes = bytes.subarray(passed);
        continue;
      }
      const missing = headLength(this.#head) - this.#head.length;
      this.#head = Buffer.concat([this.#head, bytes.subarray(0, missing)]);
      bytes = bytes.subarray(missing);
      if (this.#head.length < headLength(this.#head)) continue;
      this.#left = payloadLength(this.#head);
      this.#head = Buffer.alloc(0);
    }
  }
}

/** How long a frame's head is, as far as what is there of it tells. */
function headLength(head: Buffer): number {
  const second = head[1];
  if (second === undefined) return HEAD_BYTES;
  const short = second & 0x7f;
  const length = short === LENGTH_64 ? 8 : short === LENGTH_16 ? 2 : 0;
  return HEAD_BYTES + length + (second >= 0x80 ? KEY_BYTES : 0);
}

function payloadLength(head: Buffer): number {
  const short = (head[1] ?? 0) & 0x7f;
  if (short === LENGTH_64) return Number(head.readBigUInt64BE(HEAD_BYTES));
  return short === LENGTH_16 ? head.readUInt16BE(HEAD_BYTES) : short;
}

/** A close frame as a server sends it. The reason has at most 123 bytes. */
export function closeFrame(code: number, reason: string): Buffer {
  const text = Buffer.from(reason);
  const frame = Buffer.alloc(HEAD_BYTES + 2 + text.length);
  frame.writeUInt8(0x88, 0);
  frame.writeUInt8(2 + text.length, 1);
  frame.writeUInt16BE(code, HEAD_BYTES);
  text.copy(frame, HEAD_BYTES + 2);
  return frame;
}

import { randomBytes } from 'node:crypto';

/** Opcodes of RFC 6455, 5.2. */
export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface Frame {
  readonly isFinal: boolean;
  readonly opcode: number;
  readonly payload: Buffer;
}

const FIN = 0x80;
const MASKED = 0x80;
// Lengths that stand for a length of 2 and of 8 bytes behind them.
const LENGTH_16 = 126;
const LENGTH_64 = 127;

/** One whole frame as a client sends it: masked (5.3). */
export function clientFrame(opcode: number, payload: Uint8Array): Buffer {
  const { length } = payload;
  const extra = length < LENGTH_16 ? 0 : length < 0x1_0000 ? 2 : 8;
  const frame = Buffer.allocUnsafe(2 + extra + 4 + length);
  frame[0] = FIN | opcode;
  frame[1] = MASKED | (extra === 0 ? length : extra === 2 ? LENGTH_16 : LENGTH_64);
  if (extra === 2) frame.writeUInt16BE(length, 2);
  if (extra === 8) frame.writeBigUInt64BE(BigInt(length), 2);
  const mask = randomBytes(4);
  const start = 2 + extra + 4;
  frame.set(mask, start - 4);
  for (let at = 0; at < length; at++) frame[start + at] = (payload[at] ?? 0) ^ (mask[at & 3] ?? 0);
  return frame;
}

/** Takes frames of a server apart, as their bytes come. */
export class FrameReader {
  readonly #maxBytes: number;
  #pieces: Buffer[] = [];
  #held = 0;

  /** @param maxBytes what a frame may carry. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The frames that are whole with these bytes. Throws on what a server may not send. */
  *read(bytes: Buffer): Generator<Frame, void> {
    this.#pieces.push(bytes);
    this.#held += bytes.length;
    for (let frame = this.#next(); frame !== undefined; frame = this.#next()) yield frame;
  }

  #next(): Frame | undefined {
    const head = this.#peek(10);
    const [first, second] = head;
    if (first === undefined || second === undefined) return undefined;
    if ((first & 0x70) !== 0 || (second & MASKED) !== 0) throw new Error('malformed frame');
    const extra = second === LENGTH_16 ? 2 : second === LENGTH_64 ? 8 : 0;
    if (head.length < 2 + extra) return undefined;
    const length =
      extra === 0 ? second : extra === 2 ? head.readUInt16BE(2) : Number(head.readBigUInt64BE(2));
    if (length > this.#maxBytes) throw new Error(`a frame of ${length} bytes is too large`);
    if (this.#held < 2 + extra + length) return undefined;
    const whole = this.#cut(2 + extra + length);
    return { isFinal: (first & FIN) !== 0, opcode: first & 0x0f, payload: whole.subarray(2 + extra) };
  }

  #peek(count: number): Buffer {
    const [first] = this.#pieces;
    if (first !== undefined && (first.length >= count || this.#pieces.length === 1))
      return first.subarray(0, count);
    return Buffer.concat(this.#pieces).subarray(0, count);
  }

  #cut(count: number): Buffer {
    const [first] = this.#pieces;
    const all = first !== undefined && first.length >= count ? first : Buffer.concat(this.#pieces);
    const rest = all === first ? this.#pieces.slice(1) : [];
    this.#pieces = all.length > count ? [all.subarray(count), ...rest] : rest;
    this.#held -= count;
    return all.subarray(0, count);
  }
}

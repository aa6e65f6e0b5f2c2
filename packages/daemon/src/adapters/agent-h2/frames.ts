/** The kinds of frame on an exec stream: guest/agent/README.md, "exec". */
export const REQUEST_FRAME = { spec: 0, stdin: 1, stdinEnd: 2 } as const;
export const RESPONSE_FRAME = { started: 0, stdout: 1, stderr: 2, exit: 3 } as const;

/** The kinds of frame of a tunnel and of its connections: guest/agent/README.md, "tunnel". */
export const TUNNEL_FRAME = { connected: 1 } as const;
export const CONNECTION_FRAME = { data: 1, end: 2 } as const;

const HEADER_BYTES = 5;

// The agent sends at most 64 KiB of output a frame; the slack is for the JSON of an exit.
const MAX_PAYLOAD_BYTES = 128 * 1024;

// Stays below the 16 MiB that the agent takes in one frame, and within the stream's window.
const STDIN_CHUNK_BYTES = 64 * 1024;

/** One frame: type, length (32 bits, big-endian), payload. */
export function frame(type: number, payload: Uint8Array): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt8(type, 0);
  header.writeUInt32BE(payload.length, 1);
  return Buffer.concat([header, payload]);
}

/** What a duplex call begins with. */
export function specFrame(spec: object): Buffer {
  return frame(REQUEST_FRAME.spec, Buffer.from(JSON.stringify(spec)));
}

/** What an exec call sends: its spec, then its standard input in pieces. */
export function* requestFrames(spec: object, stdin: Uint8Array): Generator<Buffer> {
  yield specFrame(spec);
  for (let at = 0; at < stdin.length; at += STDIN_CHUNK_BYTES) {
    yield frame(REQUEST_FRAME.stdin, stdin.subarray(at, at + STDIN_CHUNK_BYTES));
  }
}

/** Cuts a byte stream into frames. Throws when a guest announces a frame larger than any it may send. */
export class FrameReader {
  readonly #head = Buffer.alloc(HEADER_BYTES);
  /** Of a frame whose end has not come; undefined while its head is awaited. */
  #payload: Buffer | undefined;
  /** Bytes of the head, or of the payload, that are there. */
  #filled = 0;
  readonly #onFrame: (type: number, payload: Buffer) => void;

  constructor(onFrame: (type: number, payload: Buffer) => void) {
    this.#onFrame = onFrame;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0)
      rest = this.#payload === undefined ? this.#takeHead(rest) : this.#takePayload(rest, this.#payload);
  }

  /** Answers what follows the head, and its payload too where that is whole. */
  #takeHead(bytes: Buffer): Buffer {
    const rest = this.#fill(this.#head, bytes);
    if (this.#filled < HEADER_BYTES) return rest;
    const length = this.#head.readUInt32BE(1);
    if (length > MAX_PAYLOAD_BYTES) throw new Error(`a frame of ${length} bytes`);
    this.#filled = 0;
    if (rest.length < length) this.#payload = Buffer.allocUnsafe(length);
    else this.#onFrame(this.#head.readUInt8(0), rest.subarray(0, length));
    return rest.length < length ? rest : rest.subarray(length);
  }

  /** Each byte is copied once, however small the pieces are in which a guest sends them. */
  #takePayload(bytes: Buffer, payload: Buffer): Buffer {
    const rest = this.#fill(payload, bytes);
    if (this.#filled < payload.length) return rest;
    this.#payload = undefined;
    this.#filled = 0;
    this.#onFrame(this.#head.readUInt8(0), payload);
    return rest;
  }

  #fill(target: Buffer, bytes: Buffer): Buffer {
    const copied = bytes.copy(target, this.#filled);
    this.#filled += copied;
    return bytes.subarray(copied);
  }
}

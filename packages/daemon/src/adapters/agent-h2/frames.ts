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

/** What an exec call sends: its spec, then its standard input in pieces. */
export function* requestFrames(spec: object, stdin: Uint8Array): Generator<Buffer> {
  yield frame(REQUEST_FRAME.spec, Buffer.from(JSON.stringify(spec)));
  for (let at = 0; at < stdin.length; at += STDIN_CHUNK_BYTES) {
    yield frame(REQUEST_FRAME.stdin, stdin.subarray(at, at + STDIN_CHUNK_BYTES));
  }
}

/** Cuts a byte stream into frames. Throws when a guest announces a frame larger than any it may send. */
export class FrameReader {
  #pending: Buffer = Buffer.alloc(0);
  readonly #onFrame: (type: number, payload: Buffer) => void;

  constructor(onFrame: (type: number, payload: Buffer) => void) {
    this.#onFrame = onFrame;
  }

  push(chunk: Buffer): void {
    let bytes = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    while (bytes.length >= HEADER_BYTES) {
      const length = bytes.readUInt32BE(1);
      if (length > MAX_PAYLOAD_BYTES) throw new Error(`a frame of ${length} bytes`);
      const end = HEADER_BYTES + length;
      if (bytes.length < end) break;
      this.#onFrame(bytes.readUInt8(0), bytes.subarray(HEADER_BYTES, end));
      bytes = bytes.subarray(end);
    }
    this.#pending = bytes;
  }
}

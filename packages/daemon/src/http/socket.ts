import type { RawData, WebSocket } from 'ws';
import { SandboxLeft } from '../domain/streams.ts';
import type { StreamsEnd } from '../domain/streams.ts';

/** Codes of RFC 6455, 7.4.1, and of its registry. */
export const CLOSE = {
  normal: 1000,
  goingAway: 1001,
  protocolError: 1002,
  unsupported: 1003,
  internal: 1011,
} as const;

const LEFT: Record<StreamsEnd, readonly [code: number, reason: string]> = {
  destroyed: [CLOSE.goingAway, 'sandbox destroyed'],
  snapshotted: [CLOSE.goingAway, 'sandbox snapshotted'],
  lost: [CLOSE.internal, 'sandbox lost'],
  shutdown: [CLOSE.goingAway, 'daemon shutting down'],
};

// Beyond this a sender waits: enough to keep a connection busy, little enough for hundreds of slow ones.
const HIGH_WATER_BYTES = 256 * 1024;

// A peer that has not answered a close by then is not waited for, and neither is the daemon's own end.
const CLOSE_MS = 1000;

// RFC 6455, 5.5: a control frame carries 125 bytes, two of them the code.
const MAX_REASON_BYTES = 123;

/** Code and reason for a WebSocket whose sandbox was left. */
export function closeOf({ end }: SandboxLeft): readonly [code: number, reason: string] {
  return LEFT[end];
}

/** One accepted WebSocket, with back-pressure both ways. */
export class Socket {
  readonly #ws: WebSocket;
  readonly #gone = new AbortController();
  #lastSent: Promise<void> = Promise.resolve();

  constructor(ws: WebSocket) {
    this.#ws = ws;
    ws.on('error', () => undefined); // A malformed frame: ws closes with the fitting code by itself.
    ws.once('close', () => this.#gone.abort(new Error('the client went away')));
  }

  /** Aborts when the connection is over, whoever ended it. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** The subprotocol that was agreed on; empty: none. */
  get protocol(): string {
    return this.#ws.protocol;
  }

  /** How much waits to be sent, in bytes. */
  get isFull(): boolean {
    return this.#ws.bufferedAmount > HIGH_WATER_BYTES;
  }

  onMessage(take: (data: Buffer, isBinary: boolean) => void): void {
    this.#ws.on('message', (data: RawData, isBinary: boolean) => take(toBuffer(data), isBinary));
  }

  /** Stops reading, so that the client's writes come to wait, or goes on. */
  setPaused(paused: boolean): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return;
    if (paused) this.#ws.pause();
    else this.#ws.resume();
  }

  /** Sends text or bytes, and answers when more may follow. After the end of the connection it does nothing. */
  async send(data: string | Uint8Array): Promise<void> {
    const sent = Promise.withResolvers<undefined>();
    this.#ws.send(data, { binary: typeof data !== 'string' }, () => sent.resolve(undefined));
    this.#lastSent = sent.promise;
    if (this.isFull) await sent.promise;
  }

  /** Closes once everything is sent, however slow the client is. */
  async finish(code: number, reason: string): Promise<void> {
    await this.#lastSent;
    this.#ws.close(code, trimmed(reason));
  }

  /** Closes soon: a client that does not answer loses what was still on its way. */
  close(code: number, reason: string): void {
    // A paused connection reads no answer to the close.
    this.setPaused(false);
    this.#ws.close(code, trimmed(reason));
    setTimeout(() => this.#ws.terminate(), CLOSE_MS).unref();
  }

  /** Closes with what an error says: why the sandbox was left, or that something broke. */
  fail(error: unknown): void {
    if (error instanceof SandboxLeft) this.close(...closeOf(error));
    else this.close(CLOSE.internal, error instanceof Error ? error.message : String(error));
  }
}

function toBuffer(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}

/** A reason cut to what a close frame holds, between characters. */
function trimmed(reason: string): string {
  let text = reason;
  while (Buffer.byteLength(text) > MAX_REASON_BYTES) text = text.slice(0, -1);
  return text;
}

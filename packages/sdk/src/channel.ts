import type { Deadline } from './deadline.ts';
import { ConnectionError, StreamClosedError } from './errors.ts';
import type { SocketLike } from './socket.ts';

/** How a WebSocket ended. */
export interface Closed {
  readonly code: number;
  readonly reason: string;
}

const NORMAL = 1000;
/** What a socket says that ended without a word. */
const LOST = 1006;

// Beyond this a sender waits, and so does the daemon where the platform lets a reader stop.
const HIGH_WATER_BYTES = 1024 * 1024;

// The standard's WebSocket does not tell when it has sent something.
const DRAIN_POLL_MS = 10;

// A peer that does not answer a close is not waited for.
const CLOSE_MS = 2000;

/** An open WebSocket: its messages, in order, for one reader, and its end. */
export class Channel {
  /** Settles, and never rejects, when the socket is closed. */
  readonly closed: Promise<Closed>;
  readonly #socket: SocketLike;
  readonly #url: string;
  readonly #what: string;
  readonly #deadline: Deadline;
  readonly #messages: (string | Uint8Array<ArrayBuffer>)[] = [];
  #waiting = 0;
  #wake: () => void = () => undefined;
  #end: Closed | undefined;
  #isLeft = false;

  constructor(socket: SocketLike, url: string, what: string, deadline: Deadline) {
    this.#socket = socket;
    this.#url = url;
    this.#what = what;
    this.#deadline = deadline;
    socket.onmessage = ({ data }) => this.#take(data);
    this.closed = new Promise((resolve) => {
      socket.onclose = ({ code, reason }) => {
        this.#end ??= { code, reason };
        deadline.clear();
        this.#wake();
        resolve(this.#end);
      };
    });
    const onAbort = () => {
      void this.close();
      this.#wake();
    };
    deadline.signal.addEventListener('abort', onAbort, { once: true });
    socket.begin?.();
    if (deadline.signal.aborted) onAbort();
  }

  /** Sends a message, and answers when another may follow. */
  async send(data: string | Uint8Array): Promise<void> {
    this.#assertOpen();
    this.#socket.send(data);
    while (this.#end === undefined && this.#socket.bufferedAmount > HIGH_WATER_BYTES)
      await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));
    this.#assertOpen();
  }

  /**
   * The messages until the socket's normal end. Throws ConnectionError when the connection was lost, StreamClosedError when the
   * daemon ended it early, and what the signal says when it was aborted. A reader that leaves closes the socket.
   */
  async *messages(): AsyncGenerator<string | Uint8Array<ArrayBuffer>, void> {
    try {
      for (;;) {
        this.#deadline.signal.throwIfAborted();
        const message = this.#messages.shift();
        if (message !== undefined) {
          this.#given(message);
          yield message;
        } else if (this.#end === undefined) {
          await new Promise<void>((resolve) => (this.#wake = resolve));
        } else {
          this.#assertGood(this.#end);
          return;
        }
      }
    } finally {
      await this.close();
    }
  }

  /** Closes the socket; what was not read is dropped. */
  async close(): Promise<void> {
    if (this.#end !== undefined) return;
    this.#isLeft = true;
    this.#socket.resume?.();
    this.#socket.close(NORMAL);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, CLOSE_MS)));
    await Promise.race([this.closed, late]);
    clearTimeout(timer);
  }

  #take(data: unknown): void {
    if (this.#isLeft) return;
    const message = typeof data === 'string' ? data : new Uint8Array(data as ArrayBuffer);
    this.#messages.push(message);
    this.#waiting += message.length;
    if (this.#waiting > HIGH_WATER_BYTES) this.#socket.pause?.();
    this.#wake();
  }

  #given(message: string | Uint8Array): void {
    this.#waiting -= message.length;
    if (this.#waiting <= HIGH_WATER_BYTES) this.#socket.resume?.();
  }

  #assertOpen(): void {
    this.#deadline.signal.throwIfAborted();
    if (this.#end !== undefined) throw this.#failure(this.#end);
    if (this.#isLeft) throw new StreamClosedError(this.#what, NORMAL, 'closed');
  }

  #assertGood(end: Closed): void {
    if (end.code !== NORMAL && !this.#isLeft) throw this.#failure(end);
  }

  #failure({ code, reason }: Closed): Error {
    if (code === LOST) return new ConnectionError(this.#url, undefined, true);
    return new StreamClosedError(this.#what, code, reason);
  }
}

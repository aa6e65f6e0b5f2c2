import type { Atoll } from './atoll.ts';
import { toBytes } from './bytes.ts';
import type { Channel } from './channel.ts';
import type { CallOptions } from './deadline.ts';
import { AtollError } from './errors.ts';
import { fill } from './routes.ts';

/** With it, text messages of the socket are JSON controls and events. */
const PROTOCOL = 'atoll.pty.v1';

/** The size of a terminal in characters. */
export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

/** Size (80 x 24 unless told), and when the terminal ends by itself. */
export interface PtyOptions extends Partial<TerminalSize>, CallOptions {}

type PtyEvent =
  | { readonly type: 'resized'; readonly cols: number; readonly rows: number }
  | { readonly type: 'error'; readonly error: string }
  | { readonly type: 'exit'; readonly exit_code: number };

/** A login shell on a terminal. Its end, or that of the connection, hangs the shell up. */
export class Terminal implements AsyncDisposable {
  readonly #channel: Channel;
  readonly #resizes: { resolve: () => void; reject: (error: Error) => void }[] = [];
  readonly #exit: Promise<number>;
  #exited!: (code: number) => void;
  #failed!: (error: unknown) => void;
  #isRead = false;

  private constructor(channel: Channel) {
    this.#channel = channel;
    this.#exit = new Promise((resolve, reject) => {
      this.#exited = resolve;
      this.#failed = reject;
    });
    // Who does not wait for the end is not bothered with how it came.
    this.#exit.catch(() => undefined);
  }

  /** @internal */
  static async open(
    atoll: Atoll,
    sandbox: string,
    { cols, rows, ...options }: PtyOptions,
  ): Promise<Terminal> {
    const path = fill('/sandboxes/{id}/pty', { id: sandbox }, { cols, rows });
    return new Terminal(await atoll.channel(path, PROTOCOL, options));
  }

  /** What the terminal shows, as bytes, until the shell's end. For one reader; one that is slow makes the shell wait. */
  get output(): AsyncIterable<Uint8Array<ArrayBuffer>> {
    return { [Symbol.asyncIterator]: () => this.#read() };
  }

  /** Types something; `\r` is the enter key. */
  async write(data: string | Uint8Array): Promise<void> {
    await this.#channel.send(toBytes(data));
  }

  /** Changes the size; answers when the shell has been told. Takes someone who reads `output`, or waits. */
  async resize({ cols, rows }: TerminalSize): Promise<void> {
    const done = new Promise<void>((resolve, reject) => this.#resizes.push({ resolve, reject }));
    done.catch(() => undefined);
    await this.#channel.send(JSON.stringify({ type: 'resize', cols, rows }));
    await done;
  }

  /** Waits for the shell's end, and answers its exit code. Output that nobody reads is dropped. */
  async wait(): Promise<number> {
    if (!this.#isRead) void this.#drain();
    return this.#exit;
  }

  /** Hangs up. */
  async close(): Promise<void> {
    await this.#channel.close();
    this.#over(new AtollError('the terminal was closed'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #drain(): Promise<void> {
    try {
      for await (const _ of this.#read());
    } catch {
      // Told by #exit.
    }
  }

  async *#read(): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
    if (this.#isRead) throw new AtollError('the output of a terminal has one reader');
    this.#isRead = true;
    let failure: unknown = new AtollError('the terminal ended without an exit code');
    try {
      for await (const message of this.#channel.messages()) {
        if (typeof message === 'string') this.#hear(JSON.parse(message) as PtyEvent);
        else yield message;
      }
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      this.#over(failure);
    }
  }

  #hear(event: PtyEvent): void {
    if (event.type === 'exit') this.#exited(event.exit_code);
    else if (event.type === 'resized') this.#resizes.shift()?.resolve();
    else this.#resizes.shift()?.reject(new AtollError(event.error));
  }

  #over(failure: unknown): void {
    this.#failed(failure);
    for (const { reject } of this.#resizes.splice(0)) reject(failure as Error);
  }
}

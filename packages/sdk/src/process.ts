import type { Atoll } from './atoll.ts';
import { textOf, toBase64, toBytes } from './bytes.ts';
import type { CallOptions } from './deadline.ts';
import { AtollError } from './errors.ts';
import { fill } from './routes.ts';
import type { ExecStreamRequest, ExecStreamSession } from './generated/api.ts';

/** A background command as the daemon lists it; `exit_code` is null while it runs. */
export type ProcessInfo = ExecStreamSession;

export interface SpawnOptions extends Pick<ExecStreamRequest, 'env' | 'cwd' | 'user'>, CallOptions {}

/** What a process's log tells, in order. `skipped`: output that the daemon had no room for any more (it keeps 1 MiB). */
export type ProcessEvent =
  | { readonly type: 'output'; readonly data: Uint8Array<ArrayBuffer> }
  | { readonly type: 'skipped'; readonly bytes: number }
  | { readonly type: 'exit'; readonly exit_code: number };

const EXITED = /^\[process exited with code (-?\d+)\]$/;
const SKIPPED = /(\d+) (?:earlier )?bytes (?:truncated|skipped)/;

// Below the body limit of any daemon, and little enough to be taken at once.
const STDIN_PIECE_BYTES = 64 * 1024;

/** A command that runs in the background, or has ended. Its log can be read any number of times, each time from its beginning. */
export class Process {
  readonly id: string;
  readonly #atoll: Atoll;
  readonly #sandbox: string;
  #exitCode: number | undefined;

  /** @internal */
  constructor(atoll: Atoll, sandbox: string, id: string) {
    this.#atoll = atoll;
    this.#sandbox = sandbox;
    this.id = id;
  }

  /** What the process writes to stdout and stderr, from its beginning to its end. */
  get output(): AsyncIterable<Uint8Array<ArrayBuffer>> {
    return { [Symbol.asyncIterator]: () => this.#output({}) };
  }

  /** As `output`, with what was skipped and how it ended. Leaving the loop closes the connection, not the process. */
  async *events(options: CallOptions = {}): AsyncGenerator<ProcessEvent, void> {
    const path = fill('/sandboxes/{id}/exec-stream/{session_id}/logs', this.#params);
    const channel = await this.#atoll.channel(path, undefined, options);
    for await (const message of channel.messages()) {
      if (typeof message !== 'string') {
        yield { type: 'output', data: message };
        continue;
      }
      const code = EXITED.exec(message)?.[1];
      if (code !== undefined) yield { type: 'exit', exit_code: (this.#exitCode = Number(code)) };
      else yield { type: 'skipped', bytes: Number(SKIPPED.exec(message)?.[1] ?? 0) };
    }
  }

  /** Waits for the end, and answers the whole output as text. */
  text(options: CallOptions = {}): Promise<string> {
    return textOf(this.#output(options));
  }

  /** Waits for the end, and answers the exit code; 128+N after signal N. */
  async wait(options: CallOptions = {}): Promise<number> {
    if (this.#exitCode !== undefined) return this.#exitCode;
    for await (const event of this.events(options)) if (event.type === 'exit') return event.exit_code;
    throw new AtollError(`process ${this.id}: its log ended without an exit code`);
  }

  /** Sends a signal to the command and those it started; `TERM` unless told. */
  async kill(signal = 'TERM', options: CallOptions = {}): Promise<void> {
    await this.#atoll.call('delete', '/sandboxes/{id}/exec-stream/{session_id}', {
      params: this.#params,
      query: { signal },
      ...options,
    });
  }

  /** Writes to the command's standard input. */
  async writeStdin(data: string | Uint8Array, options: CallOptions = {}): Promise<void> {
    const bytes = toBytes(data);
    for (let at = 0; at < bytes.length; at += STDIN_PIECE_BYTES) {
      const piece = bytes.subarray(at, at + STDIN_PIECE_BYTES);
      await this.#feed({ stdin_base64: toBase64(piece) }, options);
    }
  }

  /** Ends the command's standard input. */
  async closeStdin(options: CallOptions = {}): Promise<void> {
    await this.#feed({ eof: true }, options);
  }

  get #params(): { id: string; session_id: string } {
    return { id: this.#sandbox, session_id: this.id };
  }

  async *#output(options: CallOptions): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
    for await (const event of this.events(options)) if (event.type === 'output') yield event.data;
  }

  async #feed(body: { stdin_base64?: string; eof?: boolean }, options: CallOptions): Promise<void> {
    await this.#atoll.call('post', '/sandboxes/{id}/exec-stream/{session_id}/stdin', {
      params: this.#params,
      body,
      ...options,
    });
  }
}

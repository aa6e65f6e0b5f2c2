import type { ExecStreamSession } from '@atoll/contract/exec-stream';
import { randomUUID } from 'node:crypto';
import { AtollError } from '../lib/errors.ts';
import { Ring } from '../lib/ring.ts';
import type { RunningCommand } from '../ports/agent.ts';
import { nowUnix } from './time.ts';

/** What a log keeps of the output, in bytes. */
export const LOG_BYTES = 1024 * 1024;

const PIECE_BYTES = 64 * 1024;

/** One background command and its log. */
export class ExecSession {
  readonly id = randomUUID();
  readonly #command: string;
  readonly #args: readonly string[];
  readonly #startedAtUnix = nowUnix();
  readonly #log = new Ring(LOG_BYTES);
  readonly #running = Promise.withResolvers<RunningCommand | undefined>();
  #changed = Promise.withResolvers<undefined>();
  #exitCode: number | null = null;
  #ended = false;

  constructor(command: string, args: readonly string[]) {
    this.#command = command;
    this.#args = args;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get exitCode(): number | null {
    return this.#exitCode;
  }

  /** The command once it is started, undefined when it never was or has ended. */
  async running(): Promise<RunningCommand | undefined> {
    const command = await this.#running.promise;
    return this.#ended ? undefined : command;
  }

  toItem(): ExecStreamSession {
    return {
      id: this.id,
      command: this.#command,
      args: [...this.#args],
      started_at_unix: this.#startedAtUnix,
      exit_code: this.#exitCode,
    };
  }

  attach(command: RunningCommand): void {
    this.#running.resolve(command);
  }

  push(chunk: Uint8Array): void {
    this.#log.push(chunk);
    this.#tell();
  }

  /** @param exitCode null when the command's end cannot be known. */
  end(exitCode: number | null): void {
    this.#ended = true;
    this.#exitCode = exitCode;
    this.#running.resolve(undefined);
    this.#tell();
  }

  /**
   * The log from its beginning, as far as it is kept, and on until the command's end: bytes as the command wrote them, and
   * remarks on what is missing and how it ended. A consumer that is slower than the command skips what the log drops.
   */
  async *follow(signal: AbortSignal): AsyncGenerator<Buffer | string, void> {
    const log = this.#log;
    let at = log.dropped;
    if (at > 0) yield `[... ${at} earlier bytes truncated ...]`;
    for (;;) {
      signal.throwIfAborted();
      if (at < log.dropped) {
        const missed = log.dropped - at;
        at = log.dropped;
        yield `[reader fell behind: ${missed} bytes skipped]`;
        continue;
      }
      const piece = log.read(at, PIECE_BYTES);
      at += piece.length;
      if (piece.length > 0) yield piece;
      else if (this.#ended) break;
      else await this.#next(signal);
    }
    if (this.#exitCode !== null) yield `[process exited with code ${this.#exitCode}]`;
  }

  /** Throws SESSION_ENDED when there is no command to talk to. */
  async command(): Promise<RunningCommand> {
    const command = await this.running();
    if (command === undefined) throw AtollError.of('SESSION_ENDED', { id: this.id });
    return command;
  }

  #tell(): void {
    this.#changed.resolve(undefined);
    this.#changed = Promise.withResolvers();
  }

  async #next(signal: AbortSignal): Promise<void> {
    const { promise: aborted, resolve } = Promise.withResolvers<undefined>();
    const onAbort = () => resolve(undefined);
    signal.addEventListener('abort', onAbort, { once: true });
    await Promise.race([this.#changed.promise, aborted]);
    signal.removeEventListener('abort', onAbort);
  }
}

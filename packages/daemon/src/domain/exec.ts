import { isUtf8 } from 'node:buffer';
import type { ExecRequest, ExecResult } from '@atoll/contract/exec';
import type { Metrics } from '../ports/metrics.ts';
import type { Guests } from './guests.ts';

/** Runs commands to their end. */
export class Exec {
  readonly #guests: Guests;
  readonly #metrics: Metrics;
  readonly #maxOutputBytes: number;

  /** @param maxOutputBytes how much of each stream a result carries; what comes beyond is read and dropped. */
  constructor(guests: Guests, metrics: Metrics, maxOutputBytes: number) {
    this.#guests = guests;
    this.#metrics = metrics;
    this.#maxOutputBytes = maxOutputBytes;
  }

  /** Runs a command and answers what it left behind. Aborting kills it. */
  async run(idOrName: string, request: ExecRequest, signal: AbortSignal): Promise<ExecResult> {
    const started = performance.now();
    const output = { stdout: new Output(this.#maxOutputBytes), stderr: new Output(this.#maxOutputBytes) };
    const { command, args = [], env = {}, cwd, user, timeout_ms: timeoutMs, stdin_base64: stdin } = request;
    const exit = await this.#guests.reach(idOrName, (agent) =>
      agent.exec(
        { command, args, env, cwd, user, timeoutMs, stdin },
        (stream, chunk) => output[stream].push(chunk),
        signal,
      ),
    );
    this.#metrics.execDone(performance.now() - started);
    const stdout = output.stdout.bytes();
    const stderr = output.stderr.bytes();
    return {
      stdout: stdout.toString(),
      stderr: stderr.toString(),
      exit_code: exit.exitCode,
      ...(exit.timedOut && { timed_out: true as const }),
      ...(!isUtf8(stdout) && { stdout_base64: stdout.toString('base64') }),
      ...(!isUtf8(stderr) && { stderr_base64: stderr.toString('base64') }),
      ...((output.stdout.truncated || output.stderr.truncated) && { truncated: true as const }),
    };
  }
}

/** The first bytes of a stream, up to a limit. */
class Output {
  readonly #limit: number;
  readonly #chunks: Buffer[] = [];
  #size = 0;
  truncated = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(chunk: Buffer): void {
    const room = this.#limit - this.#size;
    if (chunk.length > room) this.truncated = true;
    const kept = chunk.subarray(0, room);
    this.#size += kept.length;
    if (kept.length > 0) this.#chunks.push(kept);
  }

  bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

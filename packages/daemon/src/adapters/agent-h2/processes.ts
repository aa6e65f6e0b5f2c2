import type { ClientHttp2Stream } from 'node:http2';
import { Readable, Writable } from 'node:stream';
import { GuestError } from '../../ports/agent.ts';
import type { CommandExit, RunningTerminal, TerminalSize } from '../../ports/agent.ts';
import type { Calls } from './calls.ts';
import { frame, FrameReader, REQUEST_FRAME, RESPONSE_FRAME, specFrame } from './frames.ts';
import { Exit, Started } from './wire.ts';

/** A process of the guest, followed over one stream: its frames become the output, the input becomes frames. */
export class RunningProcess implements RunningTerminal {
  readonly output: Readable;
  readonly input: Writable;
  readonly exited: Promise<CommandExit>;
  readonly #calls: Calls;
  readonly #stream: ClientHttp2Stream;
  readonly #started = Promise.withResolvers<number | undefined>();

  private constructor(calls: Calls, stream: ClientHttp2Stream) {
    this.#calls = calls;
    this.#stream = stream;
    this.input = inputOf(stream);
    this.output = new Readable({
      read: () => void stream.resume(),
      destroy: (error, done) => {
        // close() would first end the request in order, which the guest would take for the end of the input.
        stream.destroy(new Error('the output is not wanted any more'));
        done(error);
      },
    });
    const exited = Promise.withResolvers<CommandExit>();
    this.exited = exited.promise;
    this.exited.catch(() => undefined); // Nobody need ask.
    this.#follow(exited);
  }

  /** Starts what the route starts of such a specification. */
  static async start(calls: Calls, path: string, spec: object, signal: AbortSignal): Promise<RunningProcess> {
    const first = specFrame(spec);
    const { stream } = await calls.send({ ':path': path }, (out) => out.write(first), signal);
    return new RunningProcess(calls, stream);
  }

  async signal(name: string, signal: AbortSignal): Promise<void> {
    await this.#calls.call('/signal', { pid: await this.#pid(), signal: name }, signal);
  }

  async resize(size: TerminalSize, signal: AbortSignal): Promise<void> {
    await this.#calls.call('/resize', { pid: await this.#pid(), ...size }, signal);
  }

  async #pid(): Promise<number> {
    const pid = await this.#started.promise;
    if (pid === undefined) throw new GuestError('ESRCH', 'the command has not started');
    return pid;
  }

  #follow(exited: PromiseWithResolvers<CommandExit>): void {
    const stream = this.#stream;
    let exit: CommandExit | undefined;
    const reader = new FrameReader((type, payload) => {
      if (type === RESPONSE_FRAME.stdout || type === RESPONSE_FRAME.stderr) {
        if (!this.output.push(payload)) stream.pause();
      } else if (type === RESPONSE_FRAME.started) {
        this.#started.resolve(Started.parse(JSON.parse(payload.toString())).pid);
      } else if (type === RESPONSE_FRAME.exit) {
        const { exit_code: exitCode, timed_out: timedOut } = Exit.parse(JSON.parse(payload.toString()));
        exit = { exitCode, timedOut };
      }
    });
    const end = (error?: unknown) => {
      this.#started.resolve(undefined);
      if (!this.output.readableEnded && !this.output.destroyed) this.output.push(null);
      if (exit === undefined) exited.reject(this.#calls.lost(error));
      else exited.resolve(exit);
    };
    stream.on('data', (chunk: Buffer) => {
      try {
        reader.push(chunk);
      } catch (error) {
        stream.destroy(error as Error);
      }
    });
    stream.once('end', () => end());
    stream.once('error', end);
    stream.once('close', () => end());
  }
}

function inputOf(stream: ClientHttp2Stream): Writable {
  const input = new Writable({
    write: (chunk: Buffer, _encoding, done) => void stream.write(frame(REQUEST_FRAME.stdin, chunk), done),
    final: (done) => void stream.write(frame(REQUEST_FRAME.stdinEnd, Buffer.alloc(0)), done),
  });
  input.setMaxListeners(0); // Any number of callers may wait for room.
  input.on('error', () => undefined); // A command that has ended takes no more: its exit says so.
  return input;
}

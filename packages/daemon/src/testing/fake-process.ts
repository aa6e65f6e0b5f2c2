import { constants } from 'node:os';
import { PassThrough, Writable } from 'node:stream';
import { GuestError } from '../ports/agent.ts';
import type { Command, CommandExit, RunningTerminal } from '../ports/agent.ts';

/** A process without a machine: the commands cat, echo, false and sleep, and a shell that knows exit. */
export class FakeProcess implements RunningTerminal {
  readonly output = new PassThrough();
  readonly input: Writable;
  readonly exited: Promise<CommandExit>;
  readonly #exit = Promise.withResolvers<CommandExit>();
  #ended = false;

  private constructor(onInput: (text: Buffer) => void, onEnd: () => void, signal: AbortSignal) {
    this.exited = this.#exit.promise;
    this.exited.catch(() => undefined);
    this.input = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        if (!this.#ended) onInput(chunk);
        done();
      },
      final: (done) => {
        onEnd();
        done();
      },
    });
    signal.addEventListener('abort', () => this.#lose(signal.reason as Error), { once: true });
  }

  static of({ command, args }: Command, signal: AbortSignal): FakeProcess {
    const isCat = command === 'cat';
    const process = new FakeProcess(
      (text) => isCat && process.output.write(text),
      () => isCat && process.end(0),
      signal,
    );
    if (command === 'echo') process.output.write(`${args.join(' ')}\n`);
    else if (!['cat', 'false', 'sleep'].includes(command))
      process.output.write(`${command}: command not found\n`);
    const code = { echo: 0, false: 1, cat: undefined, sleep: undefined }[command];
    if (!['cat', 'sleep'].includes(command)) process.end(code ?? 127);
    return process;
  }

  static shell(signal: AbortSignal): FakeProcess {
    const process = new FakeProcess(
      (text) => {
        process.output.write(text);
        const code = /^exit (\d+)\n/.exec(text.toString())?.[1];
        if (code !== undefined) process.end(Number(code));
      },
      () => undefined,
      signal,
    );
    return process;
  }

  end(exitCode: number): void {
    if (this.#ended) return;
    this.#ended = true;
    this.output.end();
    this.#exit.resolve({ exitCode, timedOut: false });
  }

  signal(name: string): Promise<void> {
    if (this.#ended) return Promise.reject(new GuestError('ESRCH', 'no such process'));
    this.end(128 + constants.signals[`SIG${name}` as NodeJS.Signals]);
    return Promise.resolve();
  }

  resize(): Promise<void> {
    return this.#ended ? Promise.reject(new GuestError('ESRCH', 'no such process')) : Promise.resolve();
  }

  #lose(reason: Error): void {
    this.#ended = true;
    this.output.end();
    this.#exit.reject(reason);
  }
}

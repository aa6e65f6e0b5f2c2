import { constants } from 'node:os';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
export type Interruption = (typeof SIGNALS)[number];

/** A command that was asked to end: by Ctrl-C, or by a signal. Says in one line what became of what it had begun. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  readonly signal: Interruption;
  /** What a shell shows for a program that the signal ended. */
  readonly exitCode: number;

  constructor(signal: Interruption, outcome?: string) {
    super(outcome === undefined ? 'interrupted' : `interrupted: ${outcome}`);
    this.signal = signal;
    this.exitCode = 128 + constants.signals[signal];
  }

  /** The same, once it is known what became of it. */
  with(outcome: string): Interrupted {
    return new Interrupted(this.signal, outcome);
  }
}

/** Turns the first signal into an AbortSignal; a second one ends the program at once. */
export class Interrupts {
  readonly #controller = new AbortController();

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Listens for signals until the answer is disposed of. */
  listen(): Disposable {
    const onSignal = (name: Interruption) => {
      if (this.#controller.signal.aborted) process.exit(new Interrupted(name).exitCode);
      this.#controller.abort(new Interrupted(name));
    };
    for (const name of SIGNALS) process.on(name, onSignal);
    return {
      [Symbol.dispose]: () => {
        for (const name of SIGNALS) process.off(name, onSignal);
      },
    };
  }
}

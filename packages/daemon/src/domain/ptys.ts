import { Deadline } from '../lib/deadline.ts';
import { AtollError, reasonOf } from '../lib/errors.ts';
import { GuestError } from '../ports/agent.ts';
import type { RunningTerminal, TerminalSize } from '../ports/agent.ts';
import type { Guests } from './guests.ts';
import type { OpenStream, Streams } from './streams.ts';

const MAX_SESSIONS = 64;

const RESIZE_MS = 10_000;

// A shell is there in milliseconds; a guest that is as busy as can be may take seconds.
const OPEN_MS = 30_000;

/** Terminals: login shells of sandboxes, each for one client and no longer than that. */
export class Ptys {
  readonly #guests: Guests;
  readonly #streams: Streams;

  constructor(guests: Guests, streams: Streams) {
    this.#guests = guests;
    this.#streams = streams;
  }

  /** Starts a login shell. Throws TOO_MANY_STREAMS when the sandbox has 64 already, SANDBOX_UNREACHABLE when none comes. */
  async open(idOrName: string, size: TerminalSize): Promise<PtySession> {
    const id = this.#guests.idOf(idOrName);
    await using stack = new AsyncDisposableStack();
    const stream = stack.use(this.#streams.open(id, 'pty', MAX_SESSIONS));
    const hangUp = new AbortController();
    using deadline = Deadline.in(OPEN_MS, 'its shell');
    const over = AbortSignal.any([hangUp.signal, stream.left, deadline.signal]);
    const terminal = await this.#guests
      .reach(id, (agent) => agent.terminal(size, over))
      .catch((error: unknown) => {
        if (!deadline.signal.aborted) throw error;
        throw AtollError.of('SANDBOX_UNREACHABLE', { id, reason: reasonOf(deadline.signal.reason) }, error);
      });
    stack.defer(() => hangUp.abort(new Error('the client went away')));
    return new PtySession(this.#guests, id, terminal, stream, stack.move());
  }
}

/** One terminal. Disposing of it hangs up: everything that runs on it ends. */
export class PtySession implements AsyncDisposable {
  readonly terminal: RunningTerminal;
  readonly stream: OpenStream;
  readonly #guests: Guests;
  readonly #sandboxId: string;
  readonly #resources: AsyncDisposableStack;

  constructor(
    guests: Guests,
    sandboxId: string,
    terminal: RunningTerminal,
    stream: OpenStream,
    resources: AsyncDisposableStack,
  ) {
    this.#guests = guests;
    this.#sandboxId = sandboxId;
    this.terminal = terminal;
    this.stream = stream;
    this.#resources = resources;
  }

  /** Sets the size; nothing happens once the shell has ended. */
  async resize(size: TerminalSize): Promise<void> {
    try {
      await this.#guests.reach(this.#sandboxId, () =>
        this.terminal.resize(size, AbortSignal.timeout(RESIZE_MS)),
      );
    } catch (error) {
      const isOver = error instanceof GuestError || (error instanceof AtollError && error.status === 400);
      if (!isOver) throw error;
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#resources.disposeAsync();
  }
}

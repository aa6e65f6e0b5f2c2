import { TimeoutError } from './errors.ts';

/** What every call takes. */
export interface CallOptions {
  /** Ends the call with a TimeoutError after this many milliseconds; `Infinity` never does. */
  readonly timeoutMs?: number | undefined;
  /** Ends the call with the signal's own reason. */
  readonly signal?: AbortSignal | undefined;
}

// setTimeout's own ceiling, a signed 32-bit count: later than that is as good as never.
const MAX_TIMER_MS = 2_147_483_647;

/** The end of a call: by its time or by its caller, whichever comes first. To be cleared when the call is over. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #caller: AbortSignal | undefined;
  readonly #onAbort = () => this.#controller.abort(this.#caller?.reason);

  /** @param what is told in the TimeoutError. */
  constructor(what: string, { timeoutMs = Infinity, signal }: CallOptions) {
    this.#caller = signal;
    if (timeoutMs <= MAX_TIMER_MS)
      this.#timer = setTimeout(() => this.#controller.abort(new TimeoutError(what, timeoutMs)), timeoutMs);
    if (signal?.aborted === true) this.#onAbort();
    signal?.addEventListener('abort', this.#onAbort);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Takes the time away; the caller may still end the call. */
  disarm(): void {
    clearTimeout(this.#timer);
  }

  clear(): void {
    this.disarm();
    this.#caller?.removeEventListener('abort', this.#onAbort);
  }
}

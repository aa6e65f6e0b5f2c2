import { randomUUID } from 'node:crypto';
import { AtollError } from '../lib/errors.ts';
import type { AcceptConnection } from '../ports/agent.ts';
import type { OpenStream } from './streams.ts';

// A program that connects before the caller is there waits for it, but not for ever.
const ATTACH_MS = 10_000;

/** A port of a guest that reaches a caller. Its caller comes once; when that leaves, the port is given back. */
export class Tunnel {
  readonly id = randomUUID();
  readonly guestPort: number;
  readonly stream: OpenStream;
  /** Aborts when the tunnel is over: its port is free then, and its connections are reset. */
  readonly over: AbortSignal;
  readonly #closed = new AbortController();
  readonly #early = new Set<AcceptConnection>();
  #caller: ((accept: AcceptConnection) => void) | undefined;

  constructor(guestPort: number, stream: OpenStream) {
    this.guestPort = guestPort;
    this.stream = stream;
    this.over = AbortSignal.any([this.#closed.signal, stream.left]);
    this.over.addEventListener('abort', () => stream[Symbol.dispose](), { once: true });
  }

  /** Takes a connection that a program of the guest has made. */
  connected(accept: AcceptConnection): void {
    if (this.#caller !== undefined) {
      this.#caller(accept);
      return;
    }
    this.#early.add(accept);
    setTimeout(() => {
      if (this.#early.delete(accept)) refuse(accept);
    }, ATTACH_MS).unref();
  }

  /** Hands every connection to the caller from now on. Throws TUNNEL_ATTACHED when there was one before. */
  attach(caller: (accept: AcceptConnection) => void): void {
    if (this.#caller !== undefined || this.over.aborted)
      throw AtollError.of('TUNNEL_ATTACHED', { id: this.id });
    this.#caller = caller;
    for (const accept of this.#early) caller(accept);
    this.#early.clear();
  }

  /** Throws TUNNEL_ATTACHED when a caller cannot attach any more. */
  assertFree(): void {
    if (this.#caller !== undefined || this.over.aborted)
      throw AtollError.of('TUNNEL_ATTACHED', { id: this.id });
  }

  close(reason: Error): void {
    this.#closed.abort(reason);
  }
}

/** Resets a connection that nobody is there for. */
function refuse(accept: AcceptConnection): void {
  accept().then(
    (connection) => connection.destroy(),
    () => undefined, // It is gone already.
  );
}

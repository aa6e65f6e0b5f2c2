import { Agent } from 'node:http';
import type { ClientRequest, ClientRequestArgs } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Previews } from '../domain/previews.ts';

// Shorter than what servers wait for the next request on a connection: five seconds are common.
const IDLE_MS = 4000;

// A connection goes the way that was open when it was made, which may be the longer one.
const MAX_AGE_MS = 10_000;

const MAX_IDLE = 32;

/**
 * Connections to the servers of one sandbox that are kept for their next request: a new one takes the guest longer than most answers.
 */
class GuestConnections extends Agent {
  readonly #dial: (port: number) => Promise<Duplex>;
  readonly #idle = new WeakMap<Duplex, NodeJS.Timeout>();
  /** Until when each is kept, on the clock of `performance.now`. */
  readonly #ends = new WeakMap<Duplex, number>();

  constructor(dial: (port: number) => Promise<Duplex>) {
    super({ keepAlive: true, maxFreeSockets: MAX_IDLE });
    this.#dial = dial;
  }

  override createConnection(
    options: ClientRequestArgs,
    done: (error: Error | null, connection: Duplex) => void,
  ): undefined {
    this.#dial(Number(options.port)).then(
      (connection) => {
        this.#ends.set(connection, performance.now() + MAX_AGE_MS);
        done(null, whole(connection));
      },
      (error: unknown) => done(error as Error, undefined as never),
    );
  }

  // What Node does here is for sockets of the kernel.
  override keepSocketAlive(connection: Duplex): boolean {
    if (performance.now() > (this.#ends.get(connection) ?? 0)) return false;
    // Not waited for by a daemon that ends: its sandboxes' connections end with them.
    this.#idle.set(connection, setTimeout(() => connection.destroy(), IDLE_MS).unref());
    return true;
  }

  override reuseSocket(connection: Duplex, request: ClientRequest): void {
    clearTimeout(this.#idle.get(connection));
    super.reuseSocket(connection, request);
  }
}

/** A connection for requests without bodies: when its server has ended it there is nothing more to say. */
function whole(connection: Duplex): Duplex {
  connection.once('end', () => connection.end());
  // The agent lets idle sockets of the kernel keep the process alive or not.
  return connection instanceof Socket ? connection : Object.assign(connection, { ref: () => connection });
}

/** The kept connections of all sandboxes. Those of a sandbox end with it. */
export class KeptConnections {
  readonly #previews: Previews;
  readonly #timeoutMs: number;
  readonly #bySandbox = new Map<string, GuestConnections>();

  #isWatching = false;

  /** @param timeoutMs how long a new connection may take. */
  constructor(previews: Previews, timeoutMs: number) {
    this.#previews = previews;
    this.#timeoutMs = timeoutMs;
  }

  of(sandboxId: string): Agent {
    const known = this.#bySandbox.get(sandboxId);
    if (known !== undefined) return known;
    this.#watch();
    const made = new GuestConnections((port) => this.#previews.connect(sandboxId, port, this.#timeoutMs));
    this.#bySandbox.set(sandboxId, made);
    return made;
  }

  /** With the first connection: the routes are described without a service as well. */
  #watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.#previews.onLeft((sandboxId) => {
      this.#bySandbox.get(sandboxId)?.destroy();
      this.#bySandbox.delete(sandboxId);
    });
  }
}

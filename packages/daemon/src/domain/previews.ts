import type { Duplex } from 'node:stream';
import { Deadline, DeadlineError } from '../lib/deadline.ts';
import { AtollError } from '../lib/errors.ts';
import { GuestError } from '../ports/agent.ts';
import type { AgentSession } from '../ports/agent.ts';
import type { Network } from '../ports/network.ts';
import { CardConnections } from './card-connections.ts';
import type { Guests } from './guests.ts';
import type { OpenStream, Streams } from './streams.ts';

/** One request to a server inside a sandbox, for as long as it is under way. Disposing of it ends it. */
export interface PreviewVisit extends Disposable {
  readonly sandboxId: string;
  readonly stream: OpenStream;
}

/** The way to servers inside sandboxes. */
export class Previews {
  readonly #guests: Guests;
  readonly #streams: Streams;
  readonly #cards: CardConnections;

  constructor(guests: Guests, streams: Streams, network: Network) {
    this.#guests = guests;
    this.#streams = streams;
    this.#cards = new CardConnections(network, streams);
  }

  /** Begins a request. Throws NOT_FOUND or ILLEGAL_STATE as the sandbox may be. */
  enter(idOrName: string): PreviewVisit {
    const sandboxId = this.#guests.idOf(idOrName);
    const stream = this.#streams.open(sandboxId, 'preview');
    return { sandboxId, stream, [Symbol.dispose]: () => stream[Symbol.dispose]() };
  }

  /**
   * Connects to a port of a sandbox: over its network card, or by its agent, which finds what listens on any address. Throws
   * NOTHING_LISTENING when nobody does there, PREVIEW_BROKEN when who does refuses otherwise, and PREVIEW_TIMEOUT. Aborting ends the wait;
   * destroying the connection resets it, and so does leaving the sandbox.
   */
  async connect(sandboxId: string, port: number, timeoutMs: number, signal?: AbortSignal): Promise<Duplex> {
    const parents = signal === undefined ? [] : [signal];
    using deadline = Deadline.in(timeoutMs, 'the connection', ...parents);
    const { signal: over } = deadline;
    try {
      return await this.#guests.reach(sandboxId, (agent, live) =>
        this.#cards.connect(live, port, () => connectOrRefused(agent, sandboxId, port, over), over),
      );
    } catch (error) {
      if (!(deadline.signal.reason instanceof DeadlineError)) throw error;
      throw AtollError.of('PREVIEW_TIMEOUT', { id: sandboxId, port, seconds: timeoutMs / 1000 }, error);
    }
  }

  /** Calls back whenever a sandbox is left: nothing of it can be reached any more. */
  onLeft(leave: (sandboxId: string) => void): void {
    this.#streams.onLeft(leave);
  }
}

async function connectOrRefused(
  agent: AgentSession,
  id: string,
  port: number,
  signal: AbortSignal,
): Promise<Duplex> {
  try {
    return await agent.connect(port, signal);
  } catch (error) {
    if (!(error instanceof GuestError)) throw error;
    if (error.errno === 'ECONNREFUSED') throw AtollError.of('NOTHING_LISTENING', { id, port });
    // A server that ends just now resets the connection: that is the server's failure, and not the request's.
    throw AtollError.of('PREVIEW_BROKEN', { id, port, reason: error.message }, error);
  }
}

import type { Duplex } from 'node:stream';
import { AtollError } from '../lib/errors.ts';
import { GuestError } from '../ports/agent.ts';
import type { AgentSession } from '../ports/agent.ts';
import type { Guests } from './guests.ts';
import type { OpenStream, Streams } from './streams.ts';

/** A connection to a server inside a sandbox. */
export interface PreviewConnection {
  readonly connection: Duplex;
  readonly sandboxId: string;
  readonly stream: OpenStream;
}

/** The way to servers inside sandboxes. */
export class Previews {
  readonly #guests: Guests;
  readonly #streams: Streams;

  constructor(guests: Guests, streams: Streams) {
    this.#guests = guests;
    this.#streams = streams;
  }

  /** Connects to a port of a sandbox. Throws NOTHING_LISTENING when nobody does there. Aborting resets the connection. */
  async connect(idOrName: string, port: number, signal: AbortSignal): Promise<PreviewConnection> {
    const sandboxId = this.#guests.idOf(idOrName);
    using stack = new DisposableStack();
    const stream = stack.use(this.#streams.open(sandboxId, 'preview'));
    const over = AbortSignal.any([signal, stream.left]);
    const connection = await this.#guests.reach(sandboxId, (agent) =>
      connectOrRefused(agent, sandboxId, port, over),
    );
    const held = stack.move();
    connection.once('close', () => held.dispose());
    return { connection, sandboxId, stream };
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
    if (error instanceof GuestError && error.errno === 'ECONNREFUSED')
      throw AtollError.of('NOTHING_LISTENING', { id, port });
    throw error;
  }
}

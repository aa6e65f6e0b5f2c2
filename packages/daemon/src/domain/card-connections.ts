import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Network, NetworkLease } from '../ports/network.ts';
import type { LiveSandbox } from './registry.ts';
import type { Streams } from './streams.ts';

// A guest answers in a millisecond or two. What it drops is waited for in vain; one that is busy has the agent wait as well.
const ANSWER_MS = 100;

// How long a port to which the agent's way led, and the card's did not, is left to the agent.
const ELSEWHERE_MS = 5000;

const LATE = Symbol('late');

/** What is known of one sandbox's network card. */
interface Card {
  readonly open: Set<Duplex>;
  readonly left: AbortController;
  /** Ports that are left to the agent, each until then on the clock of `performance.now`. */
  readonly elsewhere: Map<number, number>;
}

/**
 * Connections to servers inside sandboxes over the sandboxes' network cards. All of a sandbox are reset when it is left, before its guest
 * can be frozen with them: it would hold them for ever after.
 */
export class CardConnections {
  readonly #network: Network;
  readonly #cards = new Map<string, Card>();

  constructor(network: Network, streams: Streams) {
    this.#network = network;
    streams.onLeft((sandboxId) => this.#leave(sandboxId));
  }

  /**
   * Connects to a port of a live sandbox. By the agent where the card leads nowhere, since nobody listens on its address or the guest lets
   * nothing in, and where the sandbox's limits on its network would hold for the connection. Rejects as `byAgent` does, and when the signal
   * aborts.
   */
  async connect(
    { sandbox, running }: LiveSandbox,
    port: number,
    byAgent: () => Promise<Duplex>,
    signal: AbortSignal,
  ): Promise<Duplex> {
    if (sandbox.rateLimit !== undefined) return byAgent();
    const card = this.#cardOf(sandbox.id);
    if (performance.now() < (card.elsewhere.get(port) ?? 0)) return byAgent();
    signal.throwIfAborted();
    const over = new AbortController();
    const end = () => over.abort();
    const ends = [signal, card.left.signal];
    // The card's lives as long as its sandbox: nothing may stay with it.
    for (const each of ends) each.addEventListener('abort', end);
    const asked = this.#dial(card, running.lease, port, over.signal);
    try {
      const late = sleep(ANSWER_MS, LATE, { signal: over.signal }).catch(() => undefined);
      const answer = await Promise.race([asked, late]);
      if (signal.aborted) void asked.then((connection) => connection?.destroy());
      signal.throwIfAborted();
      const connection = answer === LATE ? await firstOf(asked, byAgent()) : (answer ?? (await byAgent()));
      if (!card.open.has(connection)) card.elsewhere.set(port, performance.now() + ELSEWHERE_MS);
      return connection;
    } finally {
      end();
      for (const each of ends) each.removeEventListener('abort', end);
    }
  }

  /** Undefined when nothing comes of it. */
  async #dial(
    card: Card,
    lease: NetworkLease,
    port: number,
    signal: AbortSignal,
  ): Promise<Duplex | undefined> {
    try {
      const connection = await this.#network.connect(lease, port, signal);
      // Nobody may wait for it any more, or the sandbox be left, since it was there.
      if (signal.aborted) return connection.destroy();
      card.open.add(connection);
      return connection.once('close', () => card.open.delete(connection));
    } catch {
      return undefined;
    }
  }

  #cardOf(sandboxId: string): Card {
    const known = this.#cards.get(sandboxId);
    if (known !== undefined) return known;
    const made = {
      open: new Set<Duplex>(),
      left: new AbortController(),
      elsewhere: new Map<number, number>(),
    };
    this.#cards.set(sandboxId, made);
    return made;
  }

  #leave(sandboxId: string): void {
    const card = this.#cards.get(sandboxId);
    if (card === undefined) return;
    this.#cards.delete(sandboxId);
    card.left.abort(new Error('the sandbox was left'));
    for (const connection of card.open) connection.destroy();
  }
}

/** The first of two connections, or the second when the first comes to nothing. The other one is reset. */
async function firstOf(overCard: Promise<Duplex | undefined>, byAgent: Promise<Duplex>): Promise<Duplex> {
  let first: Duplex | undefined;
  try {
    first = await Promise.race([overCard.then((connection) => connection ?? byAgent), byAgent]);
    return first;
  } finally {
    for (const each of [overCard, byAgent])
      void each.then(
        (connection) => (connection === first ? undefined : connection?.destroy()),
        () => undefined,
      );
  }
}

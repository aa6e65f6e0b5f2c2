import type { Tunnel as TunnelItem } from '@atoll/contract/tunnel';
import { AtollError } from '../lib/errors.ts';
import { GuestError } from '../ports/agent.ts';
import type { Guests } from './guests.ts';
import type { Streams } from './streams.ts';
import { Tunnel } from './tunnel.ts';

const MAX_TUNNELS = 256;

// Tunnels that are over and still answer 409 to a late caller.
const OVER_KEPT = 256;

const LISTEN_MS = 10_000;

/** Ports of guests that reach callers of the API. */
export class Tunnels {
  readonly #guests: Guests;
  readonly #streams: Streams;
  readonly #tunnels = new Map<string, Map<string, Tunnel>>();

  constructor(guests: Guests, streams: Streams) {
    this.#guests = guests;
    this.#streams = streams;
    streams.onLeft((sandboxId) => this.#tunnels.delete(sandboxId));
  }

  /** Listens on a port of the guest's 127.0.0.1. Throws PORT_IN_USE when a program of the guest does. */
  async create(idOrName: string, guestPort: number): Promise<TunnelItem> {
    const sandboxId = this.#guests.idOf(idOrName);
    const tunnel = new Tunnel(guestPort, this.#streams.open(sandboxId, 'tunnel', MAX_TUNNELS));
    const timer = setTimeout(() => tunnel.close(new Error('the agent did not listen in time')), LISTEN_MS);
    try {
      await this.#guests.reach(sandboxId, async (agent) => {
        const onConnection = tunnel.connected.bind(tunnel);
        try {
          await agent.listen(guestPort, onConnection, (reason) => tunnel.close(reason), tunnel.over);
        } catch (error) {
          const isTaken = error instanceof GuestError && error.errno === 'EADDRINUSE';
          throw isTaken ? AtollError.of('PORT_IN_USE', { id: sandboxId, port: guestPort }) : error;
        }
      });
    } catch (error) {
      tunnel.close(new Error('the tunnel was not made'));
      throw error;
    } finally {
      clearTimeout(timer);
    }
    const tunnels = this.#tunnels.get(sandboxId) ?? new Map<string, Tunnel>();
    this.#tunnels.set(sandboxId, tunnels.set(tunnel.id, tunnel));
    forgetOldest(tunnels);
    return { tunnel_id: tunnel.id, guest_port: guestPort };
  }

  get(idOrName: string, tunnelId: string): Tunnel {
    const tunnel = this.#tunnels.get(this.#guests.idOf(idOrName))?.get(tunnelId);
    if (tunnel === undefined) throw AtollError.of('NOT_FOUND', { kind: 'tunnel', id: tunnelId });
    return tunnel;
  }

  /** Ends a tunnel: its port is given back, its connections are reset, its caller is told. */
  remove(idOrName: string, tunnelId: string): void {
    this.get(idOrName, tunnelId).close(new Error('the tunnel was deleted'));
    this.#tunnels.get(this.#guests.idOf(idOrName))?.delete(tunnelId);
  }
}

function forgetOldest(tunnels: Map<string, Tunnel>): void {
  const over = [...tunnels.values()].filter((tunnel) => tunnel.over.aborted);
  for (const { id } of over.slice(0, Math.max(0, over.length - OVER_KEPT))) tunnels.delete(id);
}

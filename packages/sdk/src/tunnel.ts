import type { Atoll } from './atoll.ts';
import type { Channel } from './channel.ts';
import type { CallOptions } from './deadline.ts';
import { local } from './platform.ts';
import { fill } from './routes.ts';

/** Where the connections of a tunnel lead, as seen from this program. */
export interface TunnelTarget {
  /** 127.0.0.1 when absent. */
  readonly host?: string | undefined;
  readonly port: number;
}

export interface TunnelOptions extends TunnelTarget, CallOptions {}

/** A port of the guest's 127.0.0.1 that reaches a server of this program's machine or network. */
export class Tunnel implements AsyncDisposable {
  readonly id: string;
  readonly guest_port: number;
  /** Settles when the tunnel is over: rejects when it ended by something else than `close`. */
  readonly closed: Promise<void>;
  readonly #atoll: Atoll;
  readonly #sandbox: string;
  readonly #channel: Channel;

  private constructor(atoll: Atoll, sandbox: string, id: string, guestPort: number, opened: Opened) {
    this.#atoll = atoll;
    this.#sandbox = sandbox;
    this.id = id;
    this.guest_port = guestPort;
    this.#channel = opened.channel;
    this.closed = opened.carried;
    this.closed.catch(() => undefined);
  }

  /** @internal */
  static async open(
    atoll: Atoll,
    sandbox: string,
    guestPort: number,
    options: TunnelOptions,
  ): Promise<Tunnel> {
    const { host = '127.0.0.1', port, ...call } = options;
    const { carryTunnel } = await local('a tunnel');
    const { tunnel_id: id } = await atoll.call('post', '/sandboxes/{id}/tunnel', {
      params: { id: sandbox },
      body: { guest_port: guestPort },
      ...call,
    });
    try {
      const path = fill('/sandboxes/{id}/tunnel/{tunnel_id}/ws', { id: sandbox, tunnel_id: id });
      const channel = await atoll.channel(path, undefined, { signal: options.signal });
      return new Tunnel(atoll, sandbox, id, guestPort, {
        channel,
        carried: carryTunnel(channel, { host, port }),
      });
    } catch (error) {
      // Nobody else could end it.
      await atoll.call('delete', '/sandboxes/{id}/tunnel/{tunnel_id}', {
        params: { id: sandbox, tunnel_id: id },
      });
      throw error;
    }
  }

  /** Ends the tunnel: the guest's port is free again, its connections are reset. */
  async close(options: CallOptions = {}): Promise<void> {
    await this.#atoll.call('delete', '/sandboxes/{id}/tunnel/{tunnel_id}', {
      params: { id: this.#sandbox, tunnel_id: this.id },
      ...options,
    });
    await this.#channel.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

interface Opened {
  readonly channel: Channel;
  readonly carried: Promise<void>;
}

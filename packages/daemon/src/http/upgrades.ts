import { ServerResponse } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { Socket as TcpSocket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { AtollError } from '../lib/errors.ts';
import { Socket } from './socket.ts';

// A paste of some megabytes is one message; what is larger is closed with 1009.
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

// RFC 6455, 4.1: 16 bytes in base64, and the one version there is.
const HANDSHAKE_KEY = /^[+/0-9A-Za-z]{22}==$/;
const HANDSHAKE_VERSION = '13';

/** The connection of a request that asks for another protocol, and what came behind the request's head. */
export interface Upgrade {
  readonly socket: TcpSocket;
  readonly head: Buffer;
}

/**
 * Sends requests for an upgrade the way of all others: through the hooks and to their route. Until a route takes the
 * connection, an answer is an ordinary HTTP response, after which the connection is closed.
 */
export class Upgrades {
  readonly #pending = new WeakMap<IncomingMessage, Upgrade>();
  readonly #server: WebSocketServer;

  constructor(app: FastifyInstance, protocols: readonly string[]) {
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: MAX_MESSAGE_BYTES,
      handleProtocols: (offered) => [...offered].find((each) => protocols.includes(each)) ?? false,
    });
    app.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      if (!(socket instanceof TcpSocket)) throw new Error('the server listens on TCP');
      this.#pending.set(request, { socket, head });
      socket.on('error', () => undefined); // Whoever uses the connection sees it close.
      const response = new ServerResponse(request);
      response.shouldKeepAlive = false;
      response.assignSocket(socket);
      response.once('finish', () => socket.end());
      app.routing(request, response);
    });
  }

  /** The connection of a request, when it asks for an upgrade and nobody has taken it. */
  pending({ raw }: FastifyRequest): Upgrade | undefined {
    return this.#pending.get(raw);
  }

  /** Takes the connection from HTTP: nothing is answered any more but what is written to it. */
  take(request: FastifyRequest, reply: FastifyReply): Upgrade {
    const upgrade = this.#pending.get(request.raw);
    if (upgrade === undefined) throw AtollError.of('UPGRADE_REQUIRED', {});
    this.#pending.delete(request.raw);
    reply.hijack();
    reply.raw.removeAllListeners('finish');
    reply.raw.detachSocket(upgrade.socket);
    return upgrade;
  }

  /** Throws UPGRADE_REQUIRED when a request is no WebSocket handshake. */
  require(request: FastifyRequest): void {
    const { headers, method } = request.raw;
    const isHandshake =
      method === 'GET' &&
      this.#pending.has(request.raw) &&
      HANDSHAKE_KEY.test(headers['sec-websocket-key'] ?? '') &&
      headers['sec-websocket-version'] === HANDSHAKE_VERSION;
    if (!isHandshake) throw AtollError.of('UPGRADE_REQUIRED', {});
  }

  /** Answers the handshake. Comes after everything that may still refuse the request. */
  async accept(request: FastifyRequest, reply: FastifyReply): Promise<Socket> {
    const { socket, head } = this.take(request, reply);
    if (socket.destroyed) throw new Error('the client went away');
    const { promise, resolve, reject } = Promise.withResolvers<WebSocket>();
    socket.once('close', () => reject(new Error('the client went away')));
    this.#server.handleUpgrade(request.raw, socket, head, resolve);
    return new Socket(await promise);
  }
}

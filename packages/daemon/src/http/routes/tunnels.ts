import { SandboxParams } from '@atoll/contract/sandboxes';
import { SocketQuery } from '@atoll/contract/streams';
import { CreateTunnel, Tunnel, TunnelParams, TunnelQuery } from '@atoll/contract/tunnel';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { SandboxLeft } from '../../domain/streams.ts';
import { GUEST_ERRORS, NoContent, SOCKET_ANSWERS } from '../schemas.ts';
import type { Services } from '../services.ts';
import { CLOSE } from '../socket.ts';
import { TunnelBridge } from '../tunnel-bridge.ts';
import type { Upgrades } from '../upgrades.ts';

const tags = ['tunnel'];

/** Ports inside sandboxes that reach the caller. */
export function tunnelRoutes({ tunnels }: Services, upgrades: Upgrades): FastifyPluginCallbackZod {
  return (app, _options, done) => {
    app.post(
      '/sandboxes/:id/tunnel',
      {
        schema: {
          tags,
          summary:
            "Let a port of the guest's 127.0.0.1 reach the caller, who attaches by the tunnel's WebSocket",
          params: SandboxParams,
          body: CreateTunnel,
          response: { 200: Tunnel, ...GUEST_ERRORS },
        },
      },
      (request) => tunnels.create(request.params.id, request.body.guest_port),
    );
    app.get(
      '/sandboxes/:id/tunnel/:tunnel_id/ws',
      {
        config: { queryToken: true },
        schema: {
          tags,
          summary: 'Attach to a tunnel, once',
          description: [
            'Binary messages: op (1 byte) | length of conn_id (1 byte) | conn_id (UTF-8) | payload. Op 0, from the daemon, opens a',
            'connection; 1 carries data; 2 ends the direction of whoever sends it or, with a payload, resets the connection.',
          ].join(' '),
          params: TunnelParams,
          querystring: SocketQuery,
          response: SOCKET_ANSWERS,
        },
      },
      async (request, reply) => {
        const tunnel = tunnels.get(request.params.id, request.params.tunnel_id);
        upgrades.require(request);
        tunnel.assertFree();
        const socket = await upgrades.accept(request, reply);
        const bridge = new TunnelBridge(socket, tunnel.stream);
        socket.gone.addEventListener('abort', () => tunnel.close(new Error('the caller went away')), {
          once: true,
        });
        tunnel.over.addEventListener('abort', () => {
          const { reason } = tunnel.over as { reason: Error };
          if (reason instanceof SandboxLeft) socket.fail(reason);
          else socket.close(CLOSE.normal, reason.message);
        });
        tunnel.attach((accept) => void bridge.carry(accept));
      },
    );
    const summary = 'End a tunnel: its port is free again, its connections are reset';
    app.delete(
      '/sandboxes/:id/tunnel',
      {
        schema: {
          tags,
          summary,
          params: SandboxParams,
          querystring: TunnelQuery,
          response: { 204: NoContent, ...GUEST_ERRORS },
        },
      },
      (request, reply) => {
        tunnels.remove(request.params.id, request.query.tunnel_id);
        void reply.status(204).send(null);
      },
    );
    app.delete(
      '/sandboxes/:id/tunnel/:tunnel_id',
      { schema: { tags, summary, params: TunnelParams, response: { 204: NoContent, ...GUEST_ERRORS } } },
      (request, reply) => {
        tunnels.remove(request.params.id, request.params.tunnel_id);
        void reply.status(204).send(null);
      },
    );
    done();
  };
}

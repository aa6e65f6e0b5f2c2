import { METHODS } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { PreviewParams, PreviewPathParams } from '@atoll/contract/preview';
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { AtollError } from '../../lib/errors.ts';
import { streamBodies } from '../bodies.ts';
import { clientGone } from '../abort.ts';
import type { ApiToken } from '../api-token.ts';
import { KeptConnections } from '../guest-connections.ts';
import { isNavigation, previewAddress } from '../preview-address.ts';
import { guestHeaders } from '../proxy-headers.ts';
import { proxy, StaleConnection } from '../proxy.ts';
import type { ProxyCall } from '../proxy.ts';
import { errorAnswers } from '../schemas.ts';
import type { Services } from '../services.ts';
import type { Upgrades } from '../upgrades.ts';

export interface PreviewOptions {
  /** Undefined: no token is asked for. */
  readonly token: ApiToken | undefined;
  readonly timeoutMs: number;
}

/** One request, by where it goes. */
interface Preview {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly port: number;
  readonly prefix: string;
  readonly target: string;
  /** Whether it may go over a connection that was used before. */
  readonly mayKeep: boolean;
}

const PREVIEW = /^\/sandboxes\/[^/?]+\/preview\//;
const DOCUMENTED: HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Servers inside sandboxes, by any method, with WebSockets and endless answers. */
export function previewRoutes(
  { previews }: Services,
  upgrades: Upgrades,
  { token, timeoutMs }: PreviewOptions,
): FastifyPluginCallbackZod {
  const kept = new KeptConnections(previews, timeoutMs);
  const handle = async (
    request: FastifyRequest<{ Params: z.output<typeof PreviewParams>; Querystring: { token?: unknown } }>,
    reply: FastifyReply,
  ) => {
    const { id, port } = request.params;
    const isHandshake = upgrades.pending(request) !== undefined;
    // A handshake's `token` may be the server's own, as that of a dev server for its hot reload.
    const isSecret = (value: string) => !isHandshake || token?.matches(value) === true;
    const { prefix, target } = previewAddress(request.raw.url ?? '', isSecret);
    if (token !== undefined) {
      if (request.headers['service-worker'] !== undefined) throw AtollError.of('SERVICE_WORKER_REFUSED', {});
      if (isNavigation(request.raw) && token.matches(request.query.token)) {
        void reply.header('set-cookie', token.pass.cookieFor(prefix)).header('cache-control', 'no-store');
        return reply.redirect(prefix + target, 303);
      }
    }
    await serve(
      { request, reply, port, prefix, target, mayKeep: !isHandshake && isRepeatable(request.raw) },
      id,
    );
    return reply;
  };
  const serve = async ({ request, reply, port, prefix, target, mayKeep }: Preview, id: string) => {
    using visit = previews.enter(id);
    const ended = clientGone(reply, visit.stream.left);
    const holdsToken = (text: string) => token?.isIn(text) === true;
    const pass = (over: ProxyCall['over']) => {
      const headers = guestHeaders(request.raw, { prefix, port, keepAlive: 'kept' in over, holdsToken });
      return proxy({ visit, port, target, headers, timeoutMs, over, ended }, request, reply, upgrades);
    };
    if (mayKeep) {
      try {
        await pass({ kept: kept.of(visit.sandboxId) });
        return;
      } catch (error) {
        if (!(error instanceof StaleConnection)) throw error;
      }
    }
    const connection = await previews.connect(visit.sandboxId, port, timeoutMs, ended);
    using own = new DisposableStack();
    own.defer(() => connection.destroy());
    await pass({ connection });
  };
  return (app, _options, done) => {
    streamBodies(app);
    passOnExpectations(app.server);
    const others = app.supportedMethods.filter((method) => !DOCUMENTED.includes(method));
    for (const [method, hide] of [[DOCUMENTED, false] as const, [others as HTTPMethods[], true] as const]) {
      const route = {
        method: [...method],
        exposeHeadRoute: false,
        config: { queryToken: true, previewPass: true },
      };
      const schema = {
        tags: ['preview'],
        summary: 'Reach a server inside the sandbox, on any of its addresses',
        description:
          'Everything is passed on as it is and streamed, WebSockets included; a query parameter `token` is for the daemon.',
        hide,
        produces: ['*/*'],
        response: {
          default: z.any().describe('What the server answers, whatever its status.'),
          ...errorAnswers(400, 401, 403, 404, 409, 502, 504),
        },
      };
      app.route({
        ...route,
        url: '/sandboxes/:id/preview/:port',
        schema: { ...schema, params: PreviewParams },
        handler: handle,
      });
      app.route({
        ...route,
        url: '/sandboxes/:id/preview/:port/*',
        schema: { ...schema, params: PreviewPathParams },
        handler: handle,
      });
    }
    done();
  };
}

/** Whether a request may be sent again when its connection turns out to be dead: it has no body, and asks for nothing but an answer. */
function isRepeatable({ method = '', headers }: IncomingMessage): boolean {
  const hasBody = headers['transfer-encoding'] !== undefined || headers['content-length'] !== undefined;
  return ['GET', 'HEAD', 'OPTIONS'].includes(method) && !hasBody && headers.expect === undefined;
}

/** Lets every method that Node parses reach a preview. To be called before any route is made. */
export function takeEveryMethod(app: FastifyInstance): void {
  for (const method of METHODS) {
    if (method !== 'CONNECT' && !app.supportedMethods.includes(method))
      app.addHttpMethod(method, { hasBody: true });
  }
}

/** `Expect: 100-continue` is answered by the server inside the sandbox, where there is one, and by the daemon elsewhere. */
function passOnExpectations(server: FastifyInstance['server']): void {
  server.on('checkContinue', (request, response) => {
    if (!PREVIEW.test(request.url ?? '')) response.writeContinue();
    server.emit('request', request, response);
  });
}

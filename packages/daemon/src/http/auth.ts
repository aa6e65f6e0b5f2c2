import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AtollError } from '../lib/errors.ts';
import type { ApiToken } from './api-token.ts';
import { previewAddress } from './preview-address.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route takes the token as a query parameter too: browsers set no headers on a WebSocket handshake or a link. */
    readonly queryToken?: boolean;
    /** The route is a preview, and takes the pass of one. */
    readonly previewPass?: boolean;
  }
}

const OPEN_ROUTES = new Set(['/healthz', '/metrics']);
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Lets a request through when it carries the token. Without a configured token every local program may call, but no web page
 * of another site may: a browser marks what such a page sends (Fetch Metadata).
 */
export function requireToken(app: FastifyInstance, token: ApiToken | undefined): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (OPEN_ROUTES.has(request.routeOptions.url ?? '')) done();
    else if (token === undefined) done(isCrossSite(request) ? AtollError.of('CROSS_SITE', {}) : undefined);
    else done(isAllowed(request, token) ? undefined : AtollError.of('UNAUTHORIZED', {}));
  });
}

function isAllowed({ headers, query, raw, routeOptions }: FastifyRequest, token: ApiToken): boolean {
  const { queryToken, previewPass } = routeOptions.config;
  if (token.matches(/^Bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1])) return true;
  if (queryToken === true && token.matches((query as Record<string, unknown>)['token'])) return true;
  if (previewPass !== true) return false;
  return token.pass.isIn(headers, previewAddress(raw.url ?? '', () => false).prefix);
}

/** A WebSocket's handshake is a GET, which a browser lets any page send; it does say which page that is. */
function isCrossSite({ method, headers }: FastifyRequest): boolean {
  if (headers.upgrade !== undefined && headers.origin !== undefined)
    return hostOf(headers.origin) !== hostOf(`http://${headers.host ?? ''}`);
  return headers['sec-fetch-site'] === 'cross-site' && !SAFE_METHODS.has(method);
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).hostname : undefined;
}

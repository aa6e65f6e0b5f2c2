import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AtollError } from '../lib/errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route takes the token as a query parameter too: browsers set no headers on a WebSocket handshake or a link. */
    readonly queryToken?: boolean;
  }
}

const OPEN_ROUTES = new Set(['/healthz', '/metrics']);
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Lets a request through when it carries the token. Without a configured token every local program may call, but no web page
 * of another site may: a browser marks what such a page sends (Fetch Metadata).
 */
export function requireToken(app: FastifyInstance, token: string | undefined): void {
  const expected = token === undefined ? undefined : digest(token);
  app.addHook('onRequest', (request, _reply, done) => {
    if (OPEN_ROUTES.has(request.routeOptions.url ?? '')) done();
    else if (expected === undefined) done(isCrossSite(request) ? AtollError.of('CROSS_SITE', {}) : undefined);
    else done(isAllowed(request, expected) ? undefined : AtollError.of('UNAUTHORIZED', {}));
  });
}

function isAllowed(request: FastifyRequest, expected: Buffer): boolean {
  const { headers, query, routeOptions } = request;
  const bearer = /^Bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1];
  if (isToken(bearer, expected)) return true;
  return (
    routeOptions.config.queryToken === true && isToken((query as Record<string, unknown>)['token'], expected)
  );
}

function isToken(given: unknown, expected: Buffer): boolean {
  // Digests have one length, so that the comparison tells nothing, not even how long the token is.
  return typeof given === 'string' && timingSafeEqual(digest(given), expected);
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

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AtollError } from '../lib/errors.ts';

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
    else done(isBearer(request, expected) ? undefined : AtollError.of('UNAUTHORIZED', {}));
  });
}

function isBearer({ headers }: FastifyRequest, expected: Buffer): boolean {
  const given = /^Bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1];
  // Digests have one length, so that the comparison tells nothing, not even how long the token is.
  return given !== undefined && timingSafeEqual(digest(given), expected);
}

function isCrossSite({ method, headers }: FastifyRequest): boolean {
  return headers['sec-fetch-site'] === 'cross-site' && !SAFE_METHODS.has(method);
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

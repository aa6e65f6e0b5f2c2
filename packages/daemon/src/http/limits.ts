import type { FastifyInstance } from 'fastify';
import { AtollError } from '../lib/errors.ts';
import { refuseOn } from './malformed.ts';

/** What the daemon takes of requests at a time, and how long it waits for one. */
export interface RequestLimits {
  readonly maxConnections: number;
  readonly maxConcurrentRequests: number;
  /** For the head of a request; for each next part of its body, if that is JSON. */
  readonly requestTimeoutMs: number;
}

// Whoever watches the daemon is answered however much it has to do.
const UNCOUNTED = ['/healthz', '/metrics'];

// What a body has to come on by in each span of the timeout. Less than any network carries, and more than somebody sends who only
// wants to keep his place.
const MIN_PROGRESS_BYTES = 16 * 1024;

// How often Node looks for connections whose time is up.
const CHECK_MS = 1000;

const RETRY_AFTER_SECS = 1;

/** What Node's own server is told. Connections beyond their number are closed at once; one that never asks anything, when its time is up. */
export function connectionLimits({ requestTimeoutMs }: RequestLimits) {
  return {
    headersTimeout: requestTimeoutMs,
    connectionsCheckingInterval: Math.min(CHECK_MS, requestTimeoutMs),
  };
}

/** Refuses what is beyond the limits, before it costs anything. Answers in the shape of every other error. */
export function limitRequests(app: FastifyInstance, limits: RequestLimits): void {
  app.server.maxConnections = limits.maxConnections;
  limitConcurrency(app, limits.maxConcurrentRequests);
  limitBodies(app, limits.requestTimeoutMs);
}

/** WebSockets are not counted: each is limited where it is accepted. */
function limitConcurrency(app: FastifyInstance, limit: number): void {
  let open = 0;
  app.addHook('onRequest', ({ raw, routeOptions }, reply, done) => {
    if (raw.headers.upgrade !== undefined || UNCOUNTED.includes(routeOptions.url ?? '')) {
      done();
      return;
    }
    if (open >= limit) {
      void reply.header('retry-after', RETRY_AFTER_SECS);
      done(AtollError.of('TOO_MANY_REQUESTS', { limit }));
      return;
    }
    open += 1;
    reply.raw.once('close', () => (open -= 1));
    done();
  });
}

/** Gives up a body that does not come on. One that a route streams may take its time, and its reader makes it wait. */
function limitBodies(app: FastifyInstance, timeoutMs: number): void {
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const { raw } = request;
    done(null, payload);
    if (request.streamsBody || raw.complete) return;
    let before = raw.socket.bytesRead;
    // A daemon that ends does not wait for it.
    const watch = setInterval(() => {
      const now = raw.socket.bytesRead;
      // All of it came; nobody reads to its end where there is nothing to read.
      if (raw.complete) stop();
      else if (now - before >= MIN_PROGRESS_BYTES) before = now;
      else refuseOn(raw.socket, AtollError.of('REQUEST_TIMEOUT', { seconds: timeoutMs / 1000 }));
    }, timeoutMs).unref();
    const stop = () => clearInterval(watch);
    raw.once('end', stop).once('close', stop);
  });
}

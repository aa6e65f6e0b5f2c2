import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { AtollError } from '../lib/errors.ts';
import { REQUEST_ID_HEADER } from './request-id.ts';

/** Answers what is no HTTP request at all, which no route or hook ever sees, in the shape of every other error. */
export function malformedRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const body = JSON.stringify({
    error: `request: is not valid HTTP/1.1 (${error.code ?? error.message})`,
    code: 'INVALID_REQUEST',
  });
  const head = [
    'HTTP/1.1 400 Bad Request',
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `${REQUEST_ID_HEADER}: ${randomUUID()}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** What Node checks before any route, checked here so that the answer is shaped as every other: Host, and what Expect expects. */
export function requireHost(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    const missing = raw.httpVersion === '1.1' && raw.headers.host === undefined;
    done(
      missing
        ? AtollError.of('INVALID_REQUEST', { field: 'host', problem: 'is required by HTTP/1.1' })
        : undefined,
    );
  });
  // RFC 9110, 10.1.1, leaves it to the server whether to answer an expectation it does not know.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
}

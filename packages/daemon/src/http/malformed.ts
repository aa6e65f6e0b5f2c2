import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { AtollError } from '../lib/errors.ts';
import { REQUEST_ID_HEADER } from './request-id.ts';

// A client reads its answer within that, or never.
const LINGER_MS = 1000;

/** Answers what is no HTTP request at all, or none that ever ends, which no route or hook ever sees. */
export function answerMalformed(timeoutMs: number) {
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (error.code === 'ECONNRESET') socket.destroy();
    else if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT')
      refuseOn(socket, AtollError.of('REQUEST_TIMEOUT', { seconds: timeoutMs / 1000 }));
    else refuseOn(socket, malformed(error.code ?? error.message));
  };
}

function malformed(what: string): AtollError {
  return AtollError.of('INVALID_REQUEST', { field: 'request', problem: `is not valid HTTP/1.1 (${what})` });
}

/** Answers on a connection itself, in the shape of every other error, and ends it. */
export function refuseOn(socket: Socket, { status, message, code }: AtollError): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify({ error: message, code });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `${REQUEST_ID_HEADER}: ${randomUUID()}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  // Not at once: what still comes in would be answered by a reset, and that may overtake the answer.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
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

import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { bodyFailure } from '../domain/guests.ts';
import { AtollError, reasonOf } from '../lib/errors.ts';

/** Answers every failure in the one shape of error bodies. The only place where a failure becomes a status. */
export function answerErrors(app: FastifyInstance, maxBodyBytes: number): void {
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply, maxBodyBytes));
}

export function sendError(
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  maxBodyBytes: number,
): void {
  // Whatever it led to is told to nobody; the request's own line in the log is enough.
  if (reply.raw.destroyed) return;
  const failure = toAtollError(thrown, request, maxBodyBytes);
  if (failure.status >= 500)
    request.log.warn({ code: failure.code, reason: reasonOf(thrown) }, 'request failed');
  if (failure.code === 'UNAUTHORIZED') reply.header('www-authenticate', 'Bearer');
  // A client that still sends a body which is not read would wait for ever on this connection.
  if (failure.code === 'BODY_TOO_LARGE') reply.header('connection', 'close');
  void reply
    .status(failure.status)
    .type('application/json')
    .send({ error: failure.message, code: failure.code });
}

function toAtollError(thrown: unknown, request: FastifyRequest, maxBodyBytes: number): AtollError {
  if (thrown instanceof AtollError) return thrown;
  // Work failed and so did its undoing: the caller is told of the first, the log of both.
  if (thrown instanceof SuppressedError) {
    request.log.error({ reason: reasonOf(thrown.error) }, 'undoing a failed request failed as well');
    return toAtollError(thrown.suppressed, request, maxBodyBytes);
  }
  // A body of which nothing was sent yet.
  const lost = bodyFailure((request.params as { id?: string } | undefined)?.id ?? '', thrown);
  if (lost !== undefined) return lost;
  const { code, statusCode, message } = thrown as Partial<FastifyError>;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return AtollError.of('BODY_TOO_LARGE', { limit: maxBodyBytes });
  if (code === 'FST_ERR_BAD_URL')
    return AtollError.of('INVALID_REQUEST', { field: 'url', problem: 'takes valid percent-encoding' });
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return AtollError.of('INVALID_REQUEST', { field: 'request', problem: message ?? 'malformed' }, thrown);
  }
  request.log.error({ err: thrown }, 'internal error');
  return AtollError.of('INTERNAL', { requestId: request.id }, thrown);
}

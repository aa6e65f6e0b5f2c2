import { ErrorBody } from '@atoll/contract/errors';
import { z } from 'zod';

/** An answer without a body. */
export const NoContent = z.null().describe('Done; no body.');

/** The statuses that each kind of route answers errors with; every body is ErrorBody. */
export function errorAnswers<S extends number>(...statuses: S[]): Record<S, typeof ErrorBody> {
  return Object.fromEntries(statuses.map((status) => [status, ErrorBody])) as Record<S, typeof ErrorBody>;
}

/** What any call to a live sandbox may answer. */
export const GUEST_ERRORS = errorAnswers(400, 401, 404, 409, 413, 500, 502, 503);

/** What a WebSocket route answers: the switch of protocols, or an error before it. */
export const SOCKET_ANSWERS = {
  101: z.null().describe('The connection is a WebSocket now (RFC 6455).'),
  ...errorAnswers(400, 401, 404, 409, 426, 502, 503),
};

import { ErrorBody } from '@atoll/contract/errors';
import { z } from 'zod';

/** An answer without a body. */
export const NoContent = z.null().describe('Done; no body.');

/** What any request may be answered: it did not come in time, or there are too many of them (limits.ts). */
const LIMITS = [408, 503] as const;

/** The statuses that each kind of route answers errors with; every body is ErrorBody. */
export function errorAnswers<S extends number>(
  ...statuses: S[]
): Record<S | (typeof LIMITS)[number], typeof ErrorBody> {
  const all = [...statuses, ...LIMITS];
  return Object.fromEntries(all.map((status) => [status, ErrorBody])) as Record<
    (typeof all)[number],
    typeof ErrorBody
  >;
}

/** What any call to a live sandbox may answer. */
export const GUEST_ERRORS = errorAnswers(400, 401, 404, 409, 413, 500, 502, 503);

/** What a WebSocket route answers: the switch of protocols, or an error before it. */
export const SOCKET_ANSWERS = {
  101: z.null().describe('The connection is a WebSocket now (RFC 6455).'),
  ...errorAnswers(400, 401, 404, 409, 426, 502, 503),
};

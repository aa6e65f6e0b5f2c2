import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export const REQUEST_ID_HEADER = 'x-request-id';

const PRINTABLE_ASCII = /^[\x20-\x7e]{1,128}$/;

/** The caller's own request id when it is 1 to 128 printable ASCII characters, else a fresh one. */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers[REQUEST_ID_HEADER];
  return typeof given === 'string' && PRINTABLE_ASCII.test(given) ? given : randomUUID();
}

import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import type { Readable } from 'node:stream';

/** Hands a request's body to whoever takes it in. A taker that refuses rejects; the connection outlives that. */
export async function passOn(
  request: IncomingMessage,
  take: (body: Readable) => Promise<void>,
): Promise<void> {
  // A pipe, since a refusal destroys what it was sent.
  const body = new PassThrough();
  request.pipe(body);
  try {
    await take(body);
  } catch (error) {
    // The rest is read and dropped: it stands before the connection's next request.
    request.unpipe(body).resume();
    throw error;
  }
}

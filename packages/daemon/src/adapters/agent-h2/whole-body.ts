import { constants } from 'node:http2';
import type { ClientHttp2Stream } from 'node:http2';
import { Readable } from 'node:stream';
import type { Calls } from './calls.ts';

/** The bytes of a response, and an error where they stop early: Node ends a stream that was cut off like one that is done. */
export function wholeBody(calls: Calls, stream: ClientHttp2Stream, size: number | undefined): Readable {
  return Readable.from(whole(calls, stream, size), { objectMode: false });
}

async function* whole(calls: Calls, stream: ClientHttp2Stream, size: number | undefined) {
  let seen = 0;
  try {
    for await (const chunk of stream) {
      seen += (chunk as Buffer).length;
      // What is more than was announced would be read as the next answer.
      if (size !== undefined && seen > size)
        throw new Error(`more than the ${size} bytes that were announced`);
      yield chunk as Buffer;
    }
  } catch (error) {
    throw calls.lost(error);
  }
  const cutOff = stream.rstCode !== constants.NGHTTP2_NO_ERROR || (size !== undefined && seen !== size);
  if (cutOff) throw calls.lost(undefined);
}

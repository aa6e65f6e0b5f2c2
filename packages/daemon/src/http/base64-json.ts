import { Readable } from 'node:stream';

/** A JSON object with one field that holds a stream's bytes in base64, made as the stream comes. */
export function base64Json(field: string, source: Readable): Readable {
  return Readable.from(pieces(field, source), { objectMode: false });
}

async function* pieces(field: string, source: Readable): AsyncGenerator<string> {
  yield `{${JSON.stringify(field)}:"`;
  // Base64 turns 3 bytes into 4 digits: the 1 or 2 bytes over wait for the next piece.
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of source) {
    const bytes = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer]);
    const whole = bytes.length - (bytes.length % 3);
    rest = bytes.subarray(whole);
    yield bytes.toString('base64', 0, whole);
  }
  yield `${rest.toString('base64')}"}`;
}

import { constants } from 'node:http2';
import type { ClientHttp2Stream } from 'node:http2';
import { Duplex } from 'node:stream';
import { CONNECTION_FRAME, FrameReader } from './frames.ts';

/**
 * A connection of the guest, whose bytes are those of the stream. The stream itself would not do: given a text and bytes to write
 * at once, as an HTTP client does with its head and its body, Node 24 garbles them.
 */
export function plainConnection(stream: ClientHttp2Stream): Duplex {
  const connection = joined(stream);
  stream.on('data', (chunk: Buffer) => {
    if (!connection.push(chunk)) stream.pause();
  });
  stream.once('end', () => {
    if (stream.rstCode === constants.NGHTTP2_NO_ERROR) connection.push(null);
  });
  stream.once('close', () => {
    if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) connection.destroy(reset());
    // What was brought is still to be read.
    else if (connection.readableEnded) connection.destroy();
    else connection.once('end', () => connection.destroy());
  });
  return connection;
}

/** A connection whose bytes from the guest come in frames: its end in that direction is not the end of the stream. */
export function framedConnection(stream: ClientHttp2Stream): Duplex {
  let ended = false;
  const connection = joined(stream);
  const reader = new FrameReader((type, payload) => {
    if (type === CONNECTION_FRAME.data) {
      if (!connection.push(payload)) stream.pause();
    } else if (type === CONNECTION_FRAME.end) {
      ended = true;
      connection.push(null);
    }
  });
  stream.on('data', (chunk: Buffer) => {
    try {
      reader.push(chunk);
    } catch (error) {
      stream.destroy(error as Error);
    }
  });
  stream.once('close', () => {
    if (!ended || stream.rstCode !== constants.NGHTTP2_NO_ERROR) connection.destroy(reset());
  });
  return connection;
}

/** What both have in common: writing, the end of it, back-pressure, and the reset when the connection is destroyed. */
function joined(stream: ClientHttp2Stream): Duplex {
  stream.on('error', () => undefined);
  const connection: Duplex = new Duplex({
    read: () => void stream.resume(),
    write: (chunk: Buffer, _encoding, done) => void stream.write(chunk, done),
    final: (done) => void stream.end(done),
    destroy: (error, done) => {
      // One whose directions both have ended is destroyed too: its last bytes are still under way to the guest.
      const isWhole = error === null && connection.readableEnded && connection.writableFinished;
      // close() would first end the request in order, which the guest would take for the end of the bytes.
      if (!isWhole && !stream.closed) stream.destroy(reset());
      done(error);
    },
  });
  connection.on('error', () => undefined);
  return connection;
}

function reset(): Error {
  return new Error('the connection was reset');
}

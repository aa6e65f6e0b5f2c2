import { constants } from 'node:http2';
import type { ClientHttp2Stream } from 'node:http2';
import { Duplex } from 'node:stream';
import type { AcceptConnection } from '../../ports/agent.ts';
import type { Calls } from './calls.ts';
import { CONNECTION_FRAME, frame, FrameReader, REQUEST_FRAME, TUNNEL_FRAME } from './frames.ts';
import { Connected } from './wire.ts';

/** Listens on a port of the guest's loopback for as long as the signal does not abort. */
export async function listenInGuest(
  calls: Calls,
  port: number,
  onConnection: (accept: AcceptConnection) => void,
  onEnd: (reason: Error) => void,
  signal: AbortSignal,
): Promise<void> {
  const spec = frame(REQUEST_FRAME.spec, Buffer.from(JSON.stringify({ port })));
  const { stream } = await calls.send({ ':path': '/tunnel' }, (out) => out.write(spec), signal);
  const reader = new FrameReader((type, payload) => {
    if (type !== TUNNEL_FRAME.connected) return;
    const { id } = Connected.parse(JSON.parse(payload.toString()));
    onConnection(() => accept(calls, id, signal));
  });
  stream.on('data', (chunk: Buffer) => {
    try {
      reader.push(chunk);
    } catch (error) {
      stream.destroy(error as Error);
    }
  });
  stream.once('close', () => {
    if (!signal.aborted) onEnd(calls.lost(undefined));
  });
}

async function accept(calls: Calls, id: number, signal: AbortSignal): Promise<Duplex> {
  const { stream } = await calls.send({ ':path': `/tunnel/accept?id=${id}` }, () => undefined, signal);
  return connectionOf(stream);
}

/** The two directions of a connection: plain bytes to the guest; frames from it, since its end is not that of the stream. */
function connectionOf(stream: ClientHttp2Stream): Duplex {
  let ended = false;
  const connection = new Duplex({
    read: () => void stream.resume(),
    write: (chunk: Buffer, _encoding, done) => void stream.write(chunk, done),
    final: (done) => void stream.end(done),
    destroy: (error, done) => {
      if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
      done(error);
    },
  });
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
  stream.on('error', () => undefined);
  stream.once('close', () => {
    const whole = ended && stream.rstCode === constants.NGHTTP2_NO_ERROR;
    if (!whole) connection.destroy(new Error('the connection was reset'));
  });
  return connection;
}

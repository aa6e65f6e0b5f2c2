import type { Duplex } from 'node:stream';
import type { AcceptConnection } from '../../ports/agent.ts';
import type { Calls } from './calls.ts';
import { framedConnection } from './connections.ts';
import { frame, FrameReader, REQUEST_FRAME, TUNNEL_FRAME } from './frames.ts';
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
  return framedConnection(stream);
}

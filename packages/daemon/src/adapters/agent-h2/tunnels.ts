import type { Duplex } from 'node:stream';
import type { AcceptConnection } from '../../ports/agent.ts';
import type { Calls } from './calls.ts';
import { framedConnection } from './connections.ts';
import { FrameReader, specFrame, TUNNEL_FRAME } from './frames.ts';
import { Connected } from './wire.ts';

// Four times what an agent lets wait (maxWaiting of guest/agent): one that announces more has made them up.
const MAX_UNTAKEN = 4096;

/** Listens on a port of the guest's loopback for as long as the signal does not abort. */
export async function listenInGuest(
  calls: Calls,
  port: number,
  onConnection: (accept: AcceptConnection) => void,
  onEnd: (reason: Error) => void,
  signal: AbortSignal,
): Promise<void> {
  const spec = specFrame({ port });
  const { stream } = await calls.send({ ':path': '/tunnel' }, (out) => out.write(spec), signal);
  let untaken = 0;
  const reader = new FrameReader((type, payload) => {
    if (type !== TUNNEL_FRAME.connected) return;
    const { id } = Connected.parse(JSON.parse(payload.toString()));
    if ((untaken += 1) > MAX_UNTAKEN) throw new Error(`more than ${MAX_UNTAKEN} connections that wait`);
    onConnection(() => accept(calls, id, signal).finally(() => (untaken -= 1)));
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

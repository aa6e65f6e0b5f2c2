import type { Duplex } from 'node:stream';
import type { OpenStream } from '../domain/streams.ts';
import { CLOSE } from './socket.ts';
import type { Socket } from './socket.ts';
import { parseTunnelFrame, TUNNEL_OP, tunnelFrame } from './tunnel-frames.ts';

// What may wait for one program that does not read, before the socket, and so every connection, waits for it.
const CONNECTION_BYTES = 4 * 1024 * 1024;
const TOTAL_BYTES = 64 * 1024 * 1024;

// A quarter of the streams that an agent takes.
const MAX_CONNECTIONS = 1024;

/** Carries many connections over one socket. */
export class TunnelBridge {
  readonly #socket: Socket;
  readonly #stream: OpenStream;
  readonly #connections = new Map<string, Duplex>();
  #last = 0;
  #waiting = 0;

  constructor(socket: Socket, stream: OpenStream) {
    this.#socket = socket;
    this.#stream = stream;
    socket.onMessage((data, isBinary) => {
      if (isBinary) this.#receive(data);
      else socket.close(CLOSE.unsupported, 'takes binary messages');
    });
  }

  /** Opens a connection at the caller that a program of the guest has made, and carries it to its end. */
  async carry(accept: () => Promise<Duplex>): Promise<void> {
    let connection: Duplex;
    try {
      connection = await accept();
    } catch {
      return; // The program gave up before.
    }
    if (this.#connections.size >= MAX_CONNECTIONS || this.#socket.gone.aborted) {
      connection.destroy();
      return;
    }
    const id = String((this.#last += 1));
    this.#connections.set(id, connection);
    connection.once('close', () => {
      this.#connections.delete(id);
      this.#takeWhatFits();
    });
    await this.#bring(id, connection);
  }

  /** Passes on what the program sends. Its end leaves the other direction as it is. */
  async #bring(id: string, connection: Duplex): Promise<void> {
    await this.#socket.send(tunnelFrame(TUNNEL_OP.open, id));
    try {
      // The loop's end is that of one direction only.
      for await (const chunk of connection.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        this.#stream.count('out', chunk.length);
        await this.#socket.send(tunnelFrame(TUNNEL_OP.data, id, chunk));
      }
      await this.#socket.send(tunnelFrame(TUNNEL_OP.close, id));
    } catch {
      await this.#socket.send(tunnelFrame(TUNNEL_OP.close, id, Buffer.from('reset')));
    }
  }

  #receive(data: Buffer): void {
    const frame = parseTunnelFrame(data);
    if (frame === undefined || (frame.op !== TUNNEL_OP.data && frame.op !== TUNNEL_OP.close)) {
      this.#socket.close(CLOSE.protocolError, 'malformed frame');
      return;
    }
    const { op, connectionId, payload } = frame;
    // A connection may have ended while the frame was on its way.
    const connection = this.#connections.get(connectionId);
    if (connection === undefined || connection.writableEnded) return;
    if (op === TUNNEL_OP.data) this.#deliver(connection, payload);
    else if (payload.length > 0) connection.destroy();
    else connection.end();
  }

  #deliver(connection: Duplex, payload: Buffer): void {
    this.#stream.count('in', payload.length);
    this.#waiting += payload.length;
    connection.write(payload, () => {
      this.#waiting -= payload.length;
      this.#takeWhatFits();
    });
    this.#takeWhatFits();
  }

  #takeWhatFits(): void {
    const isFull =
      this.#waiting > TOTAL_BYTES ||
      (this.#waiting > CONNECTION_BYTES &&
        [...this.#connections.values()].some((each) => each.writableLength > CONNECTION_BYTES));
    this.#socket.setPaused(isFull);
  }
}

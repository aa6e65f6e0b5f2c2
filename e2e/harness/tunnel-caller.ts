import { connect } from 'node:net';
import type { Socket as TcpSocket } from 'node:net';
import type { Socket } from './socket.ts';

const OPEN = 0;
const DATA = 1;
const CLOSE = 2;

/** The caller's end of a tunnel: connects each connection of the guest to a local port, as a client of the service would. */
export class TunnelCaller {
  readonly connections = new Map<string, TcpSocket>();
  readonly #socket: Socket;
  readonly #port: number;

  constructor(socket: Socket, port: number) {
    this.#socket = socket;
    this.#port = port;
    socket.ws.on('message', (data: Buffer) => this.#receive(data));
  }

  #receive(frame: Buffer): void {
    const length = frame[1] ?? 0;
    const id = frame.toString('utf8', 2, 2 + length);
    const payload = frame.subarray(2 + length);
    if (frame[0] === OPEN) this.#open(id);
    const connection = this.connections.get(id);
    if (connection === undefined) return;
    if (frame[0] === DATA) connection.write(payload);
    else if (frame[0] === CLOSE && payload.length > 0) connection.resetAndDestroy();
    else if (frame[0] === CLOSE) connection.end();
  }

  #open(id: string): void {
    const connection = connect({ port: this.#port, host: '127.0.0.1', allowHalfOpen: true });
    this.connections.set(id, connection);
    connection.on('data', (chunk: Buffer) => {
      this.#send(DATA, id, chunk, () => connection.resume());
      // One piece at a time: what the tunnel does not take waits in the connection.
      connection.pause();
    });
    connection.on('end', () => this.#send(CLOSE, id));
    connection.on('error', () => this.#send(CLOSE, id, Buffer.from('reset')));
    connection.on('close', () => this.connections.delete(id));
  }

  #send(op: number, id: string, payload: Buffer = Buffer.alloc(0), sent?: () => void): void {
    const name = Buffer.from(id);
    this.#socket.ws.send(Buffer.concat([Buffer.from([op, name.length]), name, payload]), () => sent?.());
  }
}

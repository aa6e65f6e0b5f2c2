import { createHash, randomBytes } from 'node:crypto';
import { request as requestPlain } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { request as requestTls } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SocketLike } from '../socket.ts';
import { clientFrame, FrameReader, OPCODE } from './frames.ts';

// RFC 6455, 1.3.
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

const MAX_FRAME_BYTES = 64 * 1024 * 1024;
const MAX_REFUSAL_BYTES = 64 * 1024;
const CLOSE_MS = 1000;
const PROBE_MS = 30_000;

/** A handshake that was answered by something else than a WebSocket. */
export interface Refusal {
  readonly status: number;
  /** Body of the answer. */
  readonly refusal: string;
  readonly requestId: string | undefined;
}

export interface HandshakeOptions {
  readonly protocol: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/**
 * Opens a WebSocket over Node's HTTP client. Node 20 has none of its own, and that of later ones neither tells why a handshake
 * was refused nor lets a reader stop. Rejects when the connection fails.
 */
export function openWebSocket(url: URL, options: HandshakeOptions): Promise<NodeWebSocket | Refusal> {
  const { protocol, headers, signal } = options;
  const key = randomBytes(16).toString('base64');
  const accepts = createHash('sha1')
    .update(key + GUID)
    .digest('base64');
  const target = new URL(url.href.replace(/^ws/, 'http'));
  const request = (target.protocol === 'https:' ? requestTls : requestPlain)(target, {
    signal,
    headers: {
      ...headers,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': key,
      ...(protocol === undefined ? {} : { 'sec-websocket-protocol': protocol }),
    },
  });
  return new Promise((resolve, reject) => {
    request.once('error', reject);
    request.once('response', (response) => void refusalOf(response).then(resolve, reject));
    request.once('upgrade', (response, socket, head) => {
      if (response.headers['sec-websocket-accept'] === accepts) resolve(new NodeWebSocket(socket, head));
      else {
        socket.destroy();
        reject(new Error('the handshake was answered by no WebSocket server'));
      }
    });
    request.end();
  });
}

async function refusalOf(response: IncomingMessage): Promise<Refusal> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    pieces.push(piece);
    if ((size += piece.length) > MAX_REFUSAL_BYTES) break;
  }
  const id = response.headers['x-request-id'];
  return {
    status: response.statusCode ?? 0,
    refusal: Buffer.concat(pieces).toString(),
    requestId: typeof id === 'string' ? id : undefined,
  };
}

/** The client's end of an open WebSocket, without extensions. */
export class NodeWebSocket implements SocketLike {
  binaryType = 'arraybuffer';
  onopen: SocketLike['onopen'] = null;
  onmessage: SocketLike['onmessage'] = null;
  onclose: SocketLike['onclose'] = null;
  onerror: SocketLike['onerror'] = null;
  readonly #socket: Duplex;
  readonly #reader = new FrameReader(MAX_FRAME_BYTES);
  #message: Buffer[] = [];
  #isText = false;
  #isClosing = false;
  #end: { code: number; reason: string } | undefined;

  constructor(socket: Duplex, head: Buffer) {
    this.#socket = socket;
    const tcp = socket as Partial<Socket>;
    tcp.setNoDelay?.(true);
    // A peer that is gone without a word is noticed by that.
    tcp.setKeepAlive?.(true, PROBE_MS);
    tcp.setTimeout?.(0);
    socket.on('error', () => undefined); // It closes, and that is told.
    socket.once('end', () => socket.end());
    socket.once('close', () => this.onclose?.(this.#end ?? { code: 1006, reason: '' }));
    if (head.length > 0) socket.unshift(head);
  }

  begin(): void {
    this.#socket.on('data', (bytes: Buffer) => this.#receive(bytes));
  }

  get bufferedAmount(): number {
    return this.#socket.writableLength;
  }

  send(data: string | Uint8Array): void {
    if (typeof data === 'string') this.#write(OPCODE.text, Buffer.from(data));
    else this.#write(OPCODE.binary, data);
  }

  close(code = 1000, reason = ''): void {
    if (this.#isClosing) return;
    const payload = Buffer.alloc(2 + Buffer.byteLength(reason));
    payload.writeUInt16BE(code);
    payload.write(reason, 2);
    this.#write(OPCODE.close, payload);
    this.#isClosing = true;
    setTimeout(() => this.#socket.destroy(), CLOSE_MS).unref();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  #write(opcode: number, payload: Uint8Array): void {
    if (!this.#isClosing && this.#socket.writable) this.#socket.write(clientFrame(opcode, payload));
  }

  #receive(bytes: Buffer): void {
    try {
      for (const { opcode, isFinal, payload } of this.#reader.read(bytes))
        this.#take(opcode, isFinal, payload);
    } catch (error) {
      this.#end ??= { code: 1002, reason: (error as Error).message };
      this.#socket.destroy();
    }
  }

  #take(opcode: number, isFinal: boolean, payload: Buffer): void {
    if (opcode === OPCODE.ping) this.#write(OPCODE.pong, payload);
    else if (opcode === OPCODE.close) this.#closed(payload);
    else if (opcode !== OPCODE.pong) this.#collect(opcode, isFinal, payload);
  }

  #collect(opcode: number, isFinal: boolean, payload: Buffer): void {
    if (opcode !== OPCODE.continuation) this.#isText = opcode === OPCODE.text;
    this.#message.push(payload);
    if (!isFinal) return;
    const whole = Buffer.concat(this.#message);
    this.#message = [];
    // A copy of its own: a small Buffer is a part of a pool.
    const data = this.#isText ? whole.toString() : new Uint8Array(whole).buffer;
    this.onmessage?.({ data });
  }

  #closed(payload: Buffer): void {
    this.#end ??= {
      code: payload.length < 2 ? 1005 : payload.readUInt16BE(),
      reason: payload.toString('utf8', 2),
    };
    this.close();
    this.#socket.end();
  }
}

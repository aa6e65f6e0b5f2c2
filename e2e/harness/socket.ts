import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { until, within } from './poll.ts';

const OPEN_MS = 30_000;

export interface Closed {
  readonly code: number;
  readonly reason: string;
}

export interface SocketOptions {
  readonly token?: string;
  readonly protocol?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Leaves it to the caller to take messages: nothing is kept. */
  readonly raw?: boolean;
}

/** A WebSocket to a daemon, which keeps what it is sent. */
export class Socket implements Disposable {
  readonly ws: WebSocket;
  /** All bytes of binary messages. */
  readonly chunks: Buffer[] = [];
  readonly texts: string[] = [];
  readonly closed: Promise<Closed>;

  private constructor(ws: WebSocket, isRaw: boolean) {
    this.ws = ws;
    ws.binaryType = 'nodebuffer';
    this.closed = new Promise((resolve) => {
      ws.once('close', (code, reason) => resolve({ code, reason: reason.toString() }));
    });
    ws.on('error', () => undefined);
    if (isRaw) return;
    ws.on('message', (data: Buffer, isBinary) => {
      if (isBinary) this.chunks.push(data);
      else this.texts.push(data.toString());
    });
  }

  /** Opens one at a path. Rejects, naming the status, when the daemon refuses. */
  static async open(url: string, path: string, options: SocketOptions = {}): Promise<Socket> {
    const socket = new Socket(make(url, path, options), options.raw === true);
    const refused = once(socket.ws, 'unexpected-response').then(([, response]: unknown[]) => {
      throw new Error(`${path}: ${(response as IncomingMessage).statusCode}`);
    });
    refused.catch(() => undefined);
    await within(`${path} opens`, Promise.race([once(socket.ws, 'open'), refused]), OPEN_MS);
    return socket;
  }

  get bytes(): Buffer {
    return Buffer.concat(this.chunks);
  }

  /** Waits until what came holds this text. */
  async shows(text: string, withinMs = OPEN_MS): Promise<void> {
    const isThere = () => this.bytes.includes(text);
    await until(
      `${JSON.stringify(text)} after ${JSON.stringify(this.bytes.toString().slice(-500))}`,
      isThere,
      withinMs,
    );
  }

  [Symbol.dispose](): void {
    this.ws.terminate();
  }
}

/** The status that a handshake is refused with; 101 when it is not. */
export async function handshakeStatus(
  url: string,
  path: string,
  options: SocketOptions = {},
): Promise<number> {
  const ws = make(url, path, options);
  ws.on('error', () => undefined);
  const opened = once(ws, 'open').then(() => 101);
  const refused = once(ws, 'unexpected-response').then(
    ([, response]: unknown[]) => (response as IncomingMessage).statusCode ?? 0,
  );
  try {
    return await within(`${path} is answered`, Promise.race([opened, refused]), OPEN_MS);
  } finally {
    opened.catch(() => undefined);
    refused.catch(() => undefined);
    ws.terminate();
  }
}

function make(url: string, path: string, { token, protocol, headers = {} }: SocketOptions): WebSocket {
  const target = new URL(url.replace(/^http/, 'ws') + path);
  if (token !== undefined) target.searchParams.set('token', token);
  return new WebSocket(target, protocol === undefined ? [] : [protocol], {
    headers: { ...headers },
    perMessageDeflate: false,
  });
}

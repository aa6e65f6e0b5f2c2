import { once } from 'node:events';
import { connect } from 'node:http2';
import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  IncomingHttpHeaders,
  OutgoingHttpHeaders,
} from 'node:http2';
import type { Socket } from 'node:net';
import { AgentLost } from '../../ports/agent.ts';

// Enough for the channel's full rate: with Node's defaults 64 KiB are in flight and the pipe runs dry.
const STREAM_WINDOW_BYTES = 4 * 1024 * 1024;
const SESSION_WINDOW_BYTES = 32 * 1024 * 1024;
const MAX_FRAME_BYTES = 1024 * 1024;
// In megabytes. Below what 100 busy streams hold, nghttp2 gives up with ENHANCE_YOUR_CALM.
const SESSION_MEMORY_MB = 256;

// An agent answers a ping within a millisecond; one silent for this long, even on a host with many busy guests, is hung.
const PING_EVERY_MS = 5000;
const SILENT_MS = 20_000;

/** A response whose headers have come; its body is the stream. */
export interface AgentResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly stream: ClientHttp2Stream;
}

/** One epoch with a guest's agent: HTTP/2 over its serial port, watched by pings while calls are open. */
export class Connection {
  readonly #socket: Socket;
  readonly #session: ClientHttp2Session;
  readonly #watch: NodeJS.Timeout;
  #open = 0;
  #pingSentAt: number | undefined;
  #lost: string | undefined;

  private constructor(socket: Socket, session: ClientHttp2Session) {
    this.#socket = socket;
    this.#session = session;
    this.#watch = setInterval(() => this.#ping(), PING_EVERY_MS);
    session.on('error', (error: Error) => (this.#lost ??= error.message));
    session.on('goaway', () => this.#leave());
    session.once('close', () => clearInterval(this.#watch));
  }

  /** Speaks HTTP/2 over an epoch (hello.ts). */
  static async open(socket: Socket, signal: AbortSignal): Promise<Connection> {
    const session = connect('http://agent', {
      createConnection: () => socket,
      maxSessionMemory: SESSION_MEMORY_MB,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES, maxFrameSize: MAX_FRAME_BYTES },
    });
    const connection = new Connection(socket, session);
    try {
      await once(session, 'connect', { signal });
      session.setLocalWindowSize(SESSION_WINDOW_BYTES);
      return connection;
    } catch (error) {
      connection.close('its epoch was given up while it opened');
      throw error;
    }
  }

  get usable(): boolean {
    return !this.#session.closed && !this.#session.destroyed;
  }

  /**
   * Sends a request and waits for the response's headers. `send` writes the request's body and ends it. Rejects with the
   * signal's reason when that aborts (the agent then cancels the call), with AgentLost when the epoch ends.
   */
  async request(
    headers: OutgoingHttpHeaders,
    send: (stream: ClientHttp2Stream) => void,
    signal: AbortSignal,
  ): Promise<AgentResponse> {
    signal.throwIfAborted();
    let stream: ClientHttp2Stream;
    try {
      stream = this.#session.request({ ':method': 'POST', ...headers }, { signal });
    } catch (error) {
      throw this.lost(error);
    }
    this.#open += 1;
    stream.once('close', () => (this.#open -= 1));
    stream.on('error', () => undefined); // Whoever reads the stream sees the error too.
    send(stream);
    try {
      const [answer] = (await Promise.race([once(stream, 'response', { signal }), endOf(stream)])) as [
        IncomingHttpHeaders,
      ];
      return { status: Number(answer[':status']), headers: answer, stream };
    } catch (error) {
      stream.destroy();
      signal.throwIfAborted();
      throw this.lost(error);
    }
  }

  /** Ends the epoch; calls in flight reject with AgentLost. */
  close(reason: string): void {
    this.#lost ??= reason;
    this.#session.destroy(new Error(reason));
  }

  /** Ends the epoch without another word to the agent, which would have to read it, and waits until it can know of that. */
  async hangUp(reason: string): Promise<void> {
    const closed = new Promise((resolve) => this.#session.once('close', resolve));
    this.#lost ??= reason;
    this.#socket.destroy();
    await closed;
  }

  lost(cause: unknown): AgentLost {
    return new AgentLost(this.#lost ?? 'the connection to its agent ended', { cause });
  }

  /** Takes no more calls. Pings are not sent any more then, so those that are open have as long as one that is silent. */
  #leave(): void {
    this.#session.close();
    const timer = setTimeout(() => this.close('its agent ended the session'), SILENT_MS);
    this.#session.once('close', () => clearTimeout(timer));
  }

  #ping(): void {
    if (this.#pingSentAt !== undefined) {
      if (performance.now() - this.#pingSentAt > SILENT_MS)
        this.close(`its agent has been silent for ${SILENT_MS / 1000} s`);
      return;
    }
    if (this.#open === 0 || !this.usable) return;
    this.#pingSentAt = performance.now();
    this.#session.ping(() => (this.#pingSentAt = undefined));
  }
}

/** Rejects when a stream closes. Node closes the streams of a connection that ended without an error for them. */
async function endOf(stream: ClientHttp2Stream): Promise<never> {
  await new Promise((resolve) => stream.once('close', resolve));
  throw new Error('the connection ended before an answer came');
}

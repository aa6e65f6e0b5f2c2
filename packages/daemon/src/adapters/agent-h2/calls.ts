import type { ClientHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import type { z } from 'zod';
import { Deadline } from '../../lib/deadline.ts';
import { connectUnix } from '../../lib/socket-path.ts';
import { AgentLost, AgentOutdated, GuestError } from '../../ports/agent.ts';
import { Connection } from './connection.ts';
import type { AgentResponse } from './connection.ts';
import { openEpoch } from './hello.ts';
import { Refusal } from './wire.ts';

// A connection is a hello and its answer, a few milliseconds; a guest that needs longer is not there.
const CONNECT_MS = 5000;

// A refusal's message, with every character escaped, is the longest of them.
const MAX_ANSWER_BYTES = 128 * 1024;

// What an agent answers to a route that came after its time.
const UNKNOWN_ROUTE = 404;

/** How requests reach one guest's agent: over a connection that is opened with the first of them, and anew when it was lost. */
export class Calls {
  readonly #socketPath: string;
  /** Nothing was said over it yet. */
  #epoch: Socket | undefined;
  #connection: Connection | undefined;
  #connecting: Promise<Connection> | undefined;
  #closed = false;
  #asleep = false;

  /** Begins over an epoch of the socket at that path. HTTP waits for the first request: a guest that is only resumed is spared it. */
  constructor(socketPath: string, epoch: Socket) {
    this.#socketPath = socketPath;
    // Whoever makes a request over it learns it.
    this.#epoch = epoch.on('error', () => undefined);
  }

  /**
   * Sends a request whose body `send` writes. The signal ends the whole stream. Rejects with GuestError when the agent refuses, and
   * with AgentOutdated when it does not know the route.
   */
  async send(
    headers: Record<string, string>,
    send: (stream: ClientHttp2Stream) => void,
    signal: AbortSignal,
  ): Promise<AgentResponse> {
    const connection = await this.#live(signal);
    return this.#accepted(await connection.request(headers, send, signal), signal);
  }

  /** A JSON request. */
  post(path: string, body: object, signal: AbortSignal): Promise<AgentResponse> {
    const bytes = Buffer.from(JSON.stringify(body));
    return this.send({ ':path': path }, (out) => out.end(bytes), signal);
  }

  /** A JSON request whose answer says nothing. */
  async call(path: string, body: object, signal: AbortSignal): Promise<void> {
    const { stream } = await this.post(path, body, signal);
    stream.resume();
  }

  /** A request whose body is this content, and whose answer says nothing. */
  async upload(target: string, content: Readable | Uint8Array, signal: AbortSignal): Promise<void> {
    const send = (out: ClientHttp2Stream) => {
      if (content instanceof Readable) sendAll(content, out);
      else out.end(content);
    };
    (await this.send({ ':path': target }, send, signal)).stream.resume();
  }

  /** A JSON request with a JSON answer. */
  async ask<T extends z.ZodType>(
    path: string,
    body: object,
    shape: T,
    signal: AbortSignal,
    maxBytes = MAX_ANSWER_BYTES,
  ): Promise<z.output<T>> {
    return this.answer(await this.post(path, body, signal), shape, signal, maxBytes);
  }

  /** The JSON of a response. Rejects with AgentLost when it is none, has another shape, or is longer than that. */
  async answer<T extends z.ZodType>(
    response: AgentResponse,
    shape: T,
    signal: AbortSignal,
    maxBytes = MAX_ANSWER_BYTES,
  ): Promise<z.output<T>> {
    const chunks: Buffer[] = [];
    let size = 0;
    await this.drain(
      response.stream,
      (chunk) => {
        size += chunk.length;
        if (size > maxBytes) throw new AgentLost(`its agent gave an answer of more than ${maxBytes} bytes`);
        chunks.push(chunk);
      },
      signal,
    );
    try {
      return shape.parse(JSON.parse(Buffer.concat(chunks).toString()));
    } catch (error) {
      throw new AgentLost('its agent gave an answer that makes no sense', { cause: error });
    }
  }

  /** Reads a response to its end. Whatever goes wrong on the way, but the caller's own signal, is a lost agent. */
  async drain(stream: ClientHttp2Stream, take: (chunk: Buffer) => void, signal: AbortSignal): Promise<void> {
    try {
      for await (const chunk of stream) take(chunk as Buffer);
    } catch (error) {
      stream.destroy();
      signal.throwIfAborted();
      throw error instanceof AgentLost ? error : this.lost(error);
    }
  }

  /** The error of a stream that ended before its time. */
  lost(cause: unknown): AgentLost {
    return this.#connection?.lost(cause) ?? new AgentLost('its agent could not be reached', { cause });
  }

  /**
   * Lets the agent get ready to be saved, and sends nothing more until `wake`. `last` is one more call, sent at the same time, whose answer
   * is this one's; when it fails the agent is not waited for.
   */
  async quiesce<T>(last: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const failed = new AbortController();
    const answered = last();
    this.#asleep = true;
    try {
      const quiesced = this.#quiesced(AbortSignal.any([signal, failed.signal]));
      const [answer, connection] = await Promise.all([answered, quiesced]);
      if (connection.usable) await connection.hangUp('the sandbox is being snapshotted');
      return answer;
    } catch (error) {
      failed.abort(error);
      this.#asleep = false;
      throw error;
    }
  }

  wake(): void {
    this.#asleep = false;
  }

  close(): void {
    this.#closed = true;
    this.#epoch?.destroy();
    this.#connection?.close('the sandbox was stopped');
  }

  /** Answers the connection over which the agent was told. */
  async #quiesced(signal: AbortSignal): Promise<Connection> {
    const connection = await this.#connected(signal);
    const response = await connection.request({ ':path': '/quiesce' }, (out) => out.end(), signal);
    (await this.#accepted(response, signal)).stream.resume();
    return connection;
  }

  /** A response that is no refusal. */
  async #accepted(response: AgentResponse, signal: AbortSignal): Promise<AgentResponse> {
    if (response.status < 400) return response;
    const { errno, message } = await this.answer(response, Refusal, signal);
    if (response.status === UNKNOWN_ROUTE) throw new AgentOutdated(message);
    throw new GuestError(errno, message);
  }

  async #live(signal: AbortSignal): Promise<Connection> {
    if (this.#asleep) throw new AgentLost('the sandbox is being snapshotted');
    return this.#connected(signal);
  }

  /** The connection, opened anew when it was lost; one attempt at a time, shared by the calls that wait for it. */
  async #connected(signal: AbortSignal): Promise<Connection> {
    signal.throwIfAborted();
    if (this.#connection?.usable) return this.#connection;
    if (this.#closed) throw this.lost(undefined);
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  async #connect(): Promise<Connection> {
    using deadline = Deadline.in(CONNECT_MS, 'a connection to the agent');
    try {
      const { signal } = deadline;
      const first = this.#epoch;
      this.#epoch = undefined;
      const isOpen = first?.readable === true && first.writable;
      const epoch = isOpen ? first : await openEpoch(await connectUnix(this.#socketPath, signal), signal);
      this.#connection = await Connection.open(epoch, signal);
    } catch (error) {
      throw this.lost(error);
    }
    if (this.#closed) this.close();
    return this.#connection;
  }
}

/** Sends a body through; a failure of either side ends the stream, and whoever waits for the answer sees it. */
export function sendAll(source: Readable, stream: ClientHttp2Stream): void {
  pipeline(source, stream, () => undefined);
}

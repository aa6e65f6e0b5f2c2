import { Answer, failureOf } from './answer.ts';
import { Deadline } from './deadline.ts';
import type { CallOptions } from './deadline.ts';
import { ApiError, apiError, AtollError, parseErrorBody, UnexpectedAnswerError } from './errors.ts';
import { patience } from './patience.ts';
import { environment, isNode, local } from './platform.ts';
import { withRetries } from './retry.ts';
import { fill } from './routes.ts';
import type { AnswerOf, Method, PathOf, RequestOf } from './routes.ts';
import { Channel } from './channel.ts';
import { openPlatformSocket } from './socket.ts';
import type { SocketLike, WebSocketConstructor } from './socket.ts';

const DEFAULT_URL = 'http://127.0.0.1:7777';

/** How long a plain call may take unless it says otherwise. */
const DEFAULT_TIMEOUT_MS = 300_000;

export interface AtollOptions {
  /** Address of the daemon. Else `ATOLL_URL`, else http://127.0.0.1:7777. */
  readonly url?: string | undefined;
  /** The daemon's token. Else `ATOLL_TOKEN`, else none; an empty text is none too. */
  readonly token?: string | undefined;
  /** Used in place of the global fetch. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Used in place of what the platform has. */
  readonly WebSocket?: WebSocketConstructor | undefined;
}

/** Which daemon, and how long a call may take. A `client` stands for all of the former. */
export interface ConnectOptions extends AtollOptions, CallOptions {
  readonly client?: Atoll | undefined;
}

/** What fetch takes as a body. */
export type Content = NonNullable<RequestInit['body']>;

/** Raw content of a request. */
export interface RawRequest extends CallOptions {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: Content | undefined;
}

/** A connection to one daemon: its address, its token, and how to speak to it. Holds nothing open. */
export class Atoll {
  /** Address of the daemon, without a slash at its end. */
  readonly url: string;
  readonly #token: string | undefined;
  readonly #fetch: typeof globalThis.fetch | undefined;
  readonly #WebSocket: WebSocketConstructor | undefined;

  constructor(options: AtollOptions = {}) {
    this.url = parseUrl(options.url ?? environment('ATOLL_URL') ?? DEFAULT_URL);
    this.#token = parseToken(options.token ?? environment('ATOLL_TOKEN'));
    this.#fetch = options.fetch;
    this.#WebSocket = options.WebSocket;
  }

  /** The connection that options ask for. */
  static of(options: ConnectOptions = {}): Atoll {
    return options.client ?? new Atoll(options);
  }

  /**
   * Calls a route of the OpenAPI document, and answers what it answers.
   * Throws ApiError on a refusal, ConnectionError, TimeoutError (after 5 minutes unless told), or the signal's reason.
   */
  async call<M extends Method, P extends PathOf<M>>(
    method: M,
    path: P,
    request: RequestOf<M, P> & CallOptions,
  ): Promise<AnswerOf<M, P>> {
    const {
      params,
      query,
      body,
      timeoutMs = DEFAULT_TIMEOUT_MS,
      signal,
    } = request as CallOptions & Readonly<Record<'params' | 'query' | 'body', object | undefined>>;
    const raw =
      body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    const answer = await this.open(method.toUpperCase(), fill(path, params, query), {
      ...raw,
      timeoutMs,
      signal,
    });
    return (await answer.json()) as AnswerOf<M, P>;
  }

  /** Calls any path, and answers once the daemon begins to. There is no time limit but that of `timeoutMs`. */
  async open(method: string, path: string, request: RawRequest = {}): Promise<Answer> {
    const what = `${method} ${path.split('?')[0] ?? path}`;
    const deadline = new Deadline(what, request);
    const { headers, body } = request;
    try {
      const response = await withRetries(method, deadline.signal, async () => {
        const init = { method, headers: headers ?? {}, body: body ?? null, redirect: 'manual' as const };
        const attempt = await this.#send(path, init, deadline);
        if (!attempt.ok) throw await this.#refusal(what, attempt, deadline);
        return attempt;
      });
      return new Answer(response, deadline, this.url, what);
    } catch (error) {
      deadline.clear();
      throw error;
    }
  }

  /**
   * A fetch with the token, whose answer is the caller's, whatever its status. `timeoutMs` is for its beginning; the signal ends
   * its body too. The `authorization` header is the daemon's.
   */
  async fetch(path: string, init: RequestInit & CallOptions = {}): Promise<Response> {
    const { timeoutMs, signal, ...how } = init;
    const what = `${how.method ?? 'GET'} ${path.split('?')[0] ?? path}`;
    const deadline = new Deadline(what, { timeoutMs, signal: signal ?? undefined });
    try {
      return await this.#send(path, how, deadline);
    } finally {
      deadline.disarm();
    }
  }

  /** The full address of a path; with the token in it if asked for. */
  link(path: string, { withToken = false }: { readonly withToken?: boolean | undefined } = {}): string {
    return this.url + (withToken ? this.#withToken(path) : path);
  }

  #withToken(path: string): string {
    if (this.#token === undefined) return path;
    return `${path}${path.includes('?') ? '&' : '?'}token=${encodeURIComponent(this.#token)}`;
  }

  /** Opens a WebSocket. Refusals are those of `open`, where the platform lets them be seen. @internal */
  async channel(path: string, protocol: string | undefined, options: CallOptions = {}): Promise<Channel> {
    const what = path.split('?')[0] ?? path;
    const deadline = new Deadline(what, options);
    const opening = new Deadline(what, { timeoutMs: DEFAULT_TIMEOUT_MS, signal: deadline.signal });
    try {
      const socket = await this.#connect(path, protocol, opening.signal);
      return new Channel(socket, this.url, what, deadline);
    } catch (error) {
      deadline.clear();
      throw failureOf(error, opening, this.url);
    } finally {
      opening.clear();
    }
  }

  async #connect(path: string, protocol: string | undefined, signal: AbortSignal): Promise<SocketLike> {
    const url = new URL(this.url.replace(/^http/, 'ws') + path);
    if (this.#WebSocket === undefined && isNode()) {
      const { openWebSocket } = await local('a socket');
      const headers = this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` };
      const opened = await openWebSocket(url, { protocol, headers, signal });
      if (!('refusal' in opened)) return opened;
      throw this.#refusalOf(`GET ${url.pathname}`, opened.status, opened.refusal, opened.requestId);
    }
    if (this.#token !== undefined) url.searchParams.set('token', this.#token);
    try {
      return await openPlatformSocket(this.#WebSocket ?? globalThis.WebSocket, url, protocol, signal);
    } catch (error) {
      if (!signal.aborted) await this.#explain(path, signal);
      throw error;
    }
  }

  /** Throws why a handshake was refused, as a plain request of the same path, or of its sandbox, is told. */
  async #explain(path: string, signal: AbortSignal): Promise<void> {
    for (const each of [path, path.split('/', 3).join('/')]) {
      try {
        await (await this.open('GET', each, { signal })).text();
      } catch (error) {
        // What the route answers to anything but a handshake.
        if (!(error instanceof ApiError && error.code === 'UPGRADE_REQUIRED')) throw error;
      }
    }
  }

  async #send(path: string, init: RequestInit, deadline: Deadline): Promise<Response> {
    const headers = new Headers(init.headers);
    if (this.#token !== undefined) headers.set('authorization', `Bearer ${this.#token}`);
    const send = this.#fetch ?? globalThis.fetch;
    const how = this.#fetch === undefined ? patience() : {};
    const { signal } = deadline;
    try {
      return await send(this.url + path, {
        ...init,
        ...how,
        ...(init.body instanceof ReadableStream && { body: until(signal, init.body) }),
        headers,
        signal,
        // What fetch asks for when a body is a stream.
        ...({ duplex: 'half' } as object),
      });
    } catch (error) {
      throw failureOf(error, deadline, this.url);
    }
  }

  async #refusal(what: string, response: Response, deadline: Deadline): Promise<AtollError> {
    const text = await response.text().catch((error: unknown) => {
      throw failureOf(error, deadline, this.url, true);
    });
    return this.#refusalOf(what, response.status, text, response.headers.get('x-request-id') ?? undefined);
  }

  #refusalOf(what: string, status: number, text: string, requestId?: string): AtollError {
    const body = parseErrorBody(text);
    if (body === undefined) return new UnexpectedAnswerError(this.url, what, status);
    if (body.code !== 'UNAUTHORIZED') return apiError(body, { status, requestId });
    const message =
      this.#token === undefined
        ? `the Atoll daemon at ${this.url} asks for a token: pass it as token, or set ATOLL_TOKEN`
        : `the Atoll daemon at ${this.url} does not take this token`;
    return apiError(body, { status, requestId, message });
  }
}

/** A body that ends when the signal aborts: Node's fetch reads one that it was told to give up to its end, and drops that. */
function until(signal: AbortSignal, body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  return body.pipeThrough(new TransformStream(), { signal });
}

function parseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol))
    throw new AtollError(`url takes an address such as ${DEFAULT_URL}, not ${JSON.stringify(text)}`);
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new AtollError(
      'url takes neither a user, a query nor a fragment: the token has an option of its own',
    );
  return url.href.replace(/\/+$/, '');
}

// What a header can carry. The message does not repeat what may be most of a secret.
function parseToken(token: string | undefined): string | undefined {
  if (token === undefined || token === '') return undefined;
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new AtollError('token takes printable ASCII characters without spaces');
  return token;
}

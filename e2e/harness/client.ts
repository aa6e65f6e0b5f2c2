/** One response, read to its end. `json` is undefined when the body is none. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: unknown;
}

export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Speaks to a daemon as any HTTP client would. */
export class Client {
  readonly url: string;
  readonly #token: string | undefined;

  constructor(url: string, token?: string) {
    this.url = url;
    this.#token = token;
  }

  /** Text and bytes are sent as they are, everything else as JSON. Rejects when the response has no request id. */
  async call(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<Answer> {
    const response = await this.open(method, path, body, options);
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parse(text) };
  }

  /** As `call`, with the body of the response still to be read. */
  async open(method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<Response> {
    const headers = new Headers(options.headers);
    if (this.#token !== undefined) headers.set('authorization', `Bearer ${this.#token}`);
    const init: RequestInit = { method, headers, redirect: 'manual', signal: options.signal ?? null };
    if (body !== undefined) {
      init.body = isRaw(body) ? body : JSON.stringify(body);
      init.duplex = 'half';
      if (!isRaw(body)) headers.set('content-type', 'application/json');
    }
    const response = await fetch(this.url + path, init);
    if (!response.headers.get('x-request-id')) throw new Error(`${method} ${path}: no x-request-id`);
    return response;
  }
}

function isRaw(body: unknown): body is string | Uint8Array<ArrayBuffer> | ReadableStream {
  return typeof body === 'string' || body instanceof Uint8Array || body instanceof ReadableStream;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

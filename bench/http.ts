import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { Readable } from 'node:stream';

/** A client that keeps its connections and adds as little of its own as it can. */
export class HttpClient implements Disposable {
  readonly url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 128 });

  constructor(url: string) {
    this.url = url;
  }

  /** A call with a JSON answer, or none. Rejects unless it is answered 200 to 299. */
  async call(method: string, path: string, body?: object): Promise<unknown> {
    const bytes = await buffer(
      await this.open(method, path, body && Buffer.from(JSON.stringify(body)), JSON_TYPE),
    );
    return bytes.length === 0 ? undefined : JSON.parse(bytes.toString());
  }

  /** Answers the response, to be read by the caller. Rejects unless it is answered 200 to 299. */
  async open(
    method: string,
    path: string,
    body?: Buffer | Readable,
    headers: Record<string, string> = {},
  ): Promise<IncomingMessage> {
    const outgoing = request(this.url + path, {
      method,
      headers: body === undefined ? {} : headers,
      agent: this.#agent,
    });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve).once('error', reject);
    });
    if (body === undefined || Buffer.isBuffer(body)) outgoing.end(body);
    else body.pipe(outgoing);
    const response = await answered;
    const { statusCode = 0 } = response;
    if (statusCode >= 200 && statusCode < 300) return response;
    throw new Error(`${method} ${path}: ${statusCode} ${(await buffer(response)).toString()}`);
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

const JSON_TYPE = { 'content-type': 'application/json' };

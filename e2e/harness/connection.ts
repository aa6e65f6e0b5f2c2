import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { within } from './poll.ts';

const SILENT_MS = 10_000;

/** One connection to a daemon, kept alive: requests go one after the other, and the daemon may close it in between. */
export class Connection implements Disposable {
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(url: string) {
    this.#url = url;
  }

  /** Sends one request and answers its status and text. Rejects when the daemon is silent for too long. */
  async send(method: string, path: string, body = new Uint8Array()): Promise<string> {
    const call = request(this.#url + path, { method, agent: this.#agent });
    // A daemon that refuses early may close its end while the body is still on its way, and the answer is here already.
    call.on('error', () => undefined);
    const responded = once(call, 'response') as Promise<[IncomingMessage]>;
    call.end(body);
    try {
      const [response] = await within(`${method} ${path} is answered`, responded, SILENT_MS);
      return `${response.statusCode} ${await text(response)}`;
    } catch (error) {
      call.destroy();
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

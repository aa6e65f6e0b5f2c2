import { once } from 'node:events';
import WebSocket from 'ws';
import { within } from './poll.ts';

/** Has Node listen for an inspector, as NODE_OPTIONS, on a port of its choice. */
export const INSPECTED = '--inspect=127.0.0.1:0';

const ANSWER_MS = 30_000;

/** Looks into a Node process that was started with INSPECTED. */
export class Inspector implements Disposable {
  readonly #socket: WebSocket;
  #calls = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  /** @param stderr what the process has said there: Node names its socket in it, and a program that becomes another does so twice. */
  static async of(stderr: string): Promise<Inspector> {
    const url = [...stderr.matchAll(/^Debugger listening on (ws:\S+)$/gm)].at(-1)?.[1];
    if (url === undefined) throw new Error(`no inspector is named in:\n${stderr}`);
    const socket = new WebSocket(url);
    await within('the inspector answers', once(socket, 'open'), ANSWER_MS);
    return new Inspector(socket);
  }

  /** Bytes of JavaScript's heap that are still in use after a full collection. */
  async liveHeap(): Promise<number> {
    await this.#call('HeapProfiler.collectGarbage');
    const { usedSize } = (await this.#call('Runtime.getHeapUsage')) as { usedSize: number };
    return usedSize;
  }

  /** One at a time. */
  async #call(method: string): Promise<unknown> {
    const id = (this.#calls += 1);
    this.#socket.send(JSON.stringify({ id, method }));
    const [answer] = (await within(`${method} is answered`, once(this.#socket, 'message'), ANSWER_MS)) as [
      Buffer,
    ];
    const { id: answered, result } = JSON.parse(answer.toString()) as { id: number; result?: unknown };
    if (answered !== id || result === undefined) throw new Error(`${method}: ${answer.toString()}`);
    return result;
  }

  [Symbol.dispose](): void {
    this.#socket.terminate();
  }
}

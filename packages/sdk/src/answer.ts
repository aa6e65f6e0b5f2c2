import type { Deadline } from './deadline.ts';
import { AtollError, ConnectionError, UnexpectedAnswerError } from './errors.ts';

type Reader = ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;

/** A successful answer, whose body is still to be read: by one of these, which also ends the call's deadline. */
export class Answer {
  readonly #response: Response;
  readonly #deadline: Deadline;
  readonly #url: string;
  readonly #what: string;

  /** @param url address of the daemon. @param what the call, as errors name it. */
  constructor(response: Response, deadline: Deadline, url: string, what: string) {
    this.#response = response;
    this.#deadline = deadline;
    this.#url = url;
    this.#what = what;
  }

  /** The value of a JSON body; undefined when there is no content. */
  async json(): Promise<unknown> {
    const text = await this.text();
    if (this.#response.status === 204) return undefined;
    try {
      return JSON.parse(text);
    } catch {
      throw new UnexpectedAnswerError(this.#url, this.#what, this.#response.status);
    }
  }

  text(): Promise<string> {
    return this.#whole((response) => response.text());
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(await this.#whole((response) => response.arrayBuffer()));
  }

  /** The body as it comes. The deadline holds until its end. */
  stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    const reader = this.#response.body?.getReader() as Reader | undefined;
    const clear = () => this.#deadline.clear();
    return new ReadableStream<Uint8Array<ArrayBuffer>>({
      pull: async (controller) => {
        try {
          const piece = await reader?.read();
          if (piece?.done === false) {
            controller.enqueue(piece.value);
            return;
          }
          clear();
          controller.close();
        } catch (error) {
          clear();
          throw failureOf(error, this.#deadline, this.#url, true);
        }
      },
      cancel: async (reason) => {
        clear();
        await reader?.cancel(reason);
      },
    });
  }

  async #whole<T>(read: (response: Response) => Promise<T>): Promise<T> {
    try {
      return await read(this.#response);
    } catch (error) {
      throw failureOf(error, this.#deadline, this.#url, true);
    } finally {
      this.#deadline.clear();
    }
  }
}

/** Why a fetch, or the reading of its answer, failed: its caller, its deadline, or the connection. */
export function failureOf(error: unknown, { signal }: Deadline, url: string, isLost = false): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof AtollError) return error;
  return new ConnectionError(url, error, isLost);
}

import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { connectUnix } from '../../lib/socket-path.ts';

interface Message {
  readonly event?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly id?: number;
  readonly return?: unknown;
  readonly error?: { readonly class: string; readonly desc: string };
  readonly QMP?: { readonly version: { readonly qemu: QemuVersion } };
}

export interface QemuVersion {
  readonly major: number;
  readonly minor: number;
  readonly micro: number;
}

/** QEMU refused a command. */
export class QmpError extends Error {
  override readonly name = 'QmpError';
}

/** Gets what QEMU tells unasked. */
export type EventSink = (event: string, data: Readonly<Record<string, unknown>>) => void;

interface Waiter {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** QEMU's machine protocol over its unix socket (QEMU's docs/interop/qmp-spec): one JSON object a line, replies by id. */
export class QmpClient {
  readonly version: QemuVersion;
  readonly #socket: Socket;
  readonly #waiting: Map<number, Waiter>;
  #nextId = 1;

  private constructor(socket: Socket, version: QemuVersion, waiting: Map<number, Waiter>) {
    this.#socket = socket;
    this.version = version;
    this.#waiting = waiting;
  }

  /** Connects and leaves the negotiation mode; QEMU takes commands then, and tells its events (QEMU's qapi/run-state). */
  static async connect(path: string, onEvent: EventSink, signal: AbortSignal): Promise<QmpClient> {
    const socket = await connectUnix(path, signal);
    const waiting = new Map<number, Waiter>();
    const greeting = Promise.withResolvers<QemuVersion>();
    const fail = (error: Error) => {
      greeting.reject(error);
      for (const { reject } of waiting.values()) reject(error);
      waiting.clear();
    };
    socket.on('error', fail).on('close', () => fail(new QmpError('the monitor closed its control socket')));
    const lines = createInterface({ input: socket });
    lines.on('error', () => undefined); // Readline emits the socket's errors once more.
    lines.on('line', (line) => {
      const message = JSON.parse(line) as Message;
      if (message.event !== undefined) onEvent(message.event, message.data ?? {});
      else if (message.QMP) greeting.resolve(message.QMP.version.qemu);
      else settle(waiting, message);
    });
    const abort = () => socket.destroy(new QmpError('the monitor did not greet in time'));
    signal.addEventListener('abort', abort, { once: true });
    try {
      const client = new QmpClient(socket, await greeting.promise, waiting);
      await client.execute('qmp_capabilities', {}, signal);
      return client;
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** Runs one command. Rejects with QmpError when QEMU refuses it or goes away. */
  async execute(command: string, args: object, signal: AbortSignal): Promise<unknown> {
    signal.throwIfAborted();
    const id = this.#nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.set(id, { resolve, reject });
    const abort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', abort, { once: true });
    try {
      this.#socket.write(`${JSON.stringify({ execute: command, arguments: args, id })}\n`);
      return await promise;
    } finally {
      this.#waiting.delete(id);
      signal.removeEventListener('abort', abort);
    }
  }

  close(): void {
    this.#socket.destroy();
  }
}

function settle(waiting: Map<number, Waiter>, { id, error, return: value }: Message): void {
  const waiter = id === undefined ? undefined : waiting.get(id);
  if (waiter === undefined) return; // The answer to a call that was given up.
  if (error) waiter.reject(new QmpError(`${error.class}: ${error.desc}`));
  else waiter.resolve(value);
}

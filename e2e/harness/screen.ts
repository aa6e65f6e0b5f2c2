import xterm from '@xterm/headless';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from './poll.ts';
import type { Socket } from './socket.ts';

const SOON_MS = 30_000;

// An animation of a program's screen has longer pauses than this between its steps; a redraw has none.
const STILL_MS = 300;

/** A terminal emulator without a window, on a pty socket that was opened raw. */
export class Screen {
  readonly #terminal: xterm.Terminal;
  readonly #socket: Socket;
  readonly events: Record<string, unknown>[] = [];
  #lastMs = performance.now();

  constructor(socket: Socket, cols: number, rows: number) {
    this.#socket = socket;
    this.#terminal = new xterm.Terminal({ cols, rows, allowProposedApi: true });
    socket.ws.on('message', (data: Buffer, isBinary) => {
      this.#lastMs = performance.now();
      if (isBinary) this.#terminal.write(data);
      else this.events.push(JSON.parse(data.toString()) as Record<string, unknown>);
    });
    // What a program asks of its terminal (cursor position, kind) is answered as by any emulator.
    this.#terminal.onData((text) => this.type(text));
  }

  type(text: string): void {
    this.#socket.ws.send(Buffer.from(text));
  }

  resize(cols: number, rows: number): void {
    this.#terminal.resize(cols, rows);
    this.#socket.ws.send(JSON.stringify({ type: 'resize', cols, rows }));
  }

  /** The lines of the screen, without the blanks at their ends. */
  lines(): string[] {
    const { active } = this.#terminal.buffer;
    return Array.from(
      { length: this.#terminal.rows },
      (_, at) =>
        active
          .getLine(active.baseY + at)
          ?.translateToString(true)
          .trimEnd() ?? '',
    );
  }

  /** Waits until the screen is still and one of its lines matches. */
  async shows(pattern: RegExp): Promise<void> {
    const what = () => `${pattern} on:\n${this.lines().join('\n')}`;
    try {
      await until(String(pattern), () => this.lines().some((line) => pattern.test(line)), SOON_MS);
    } catch (error) {
      throw new Error(`not shown: ${what()}`, { cause: error });
    }
    while (performance.now() - this.#lastMs < STILL_MS) await sleep(STILL_MS / 3);
  }
}

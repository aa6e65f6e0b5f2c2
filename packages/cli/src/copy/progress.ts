import type { Sink } from '../output/output.ts';
import { bytes, oneLine } from '../output/text.ts';
import stringWidth from 'string-width';

const EVERY_MS = 100;
const BAR = 24;
// Of the name, where the terminal is narrow.
const LEAST_NAME = 8;

/** How far a copy is: a line on a terminal, which is gone at its end. Nothing is drawn elsewhere. */
export class Progress implements Disposable {
  readonly #sink: Sink;
  readonly #what: string;
  readonly #began = performance.now();
  readonly #timer: ReturnType<typeof setInterval> | undefined;
  #done = 0;
  #total: number | undefined;

  constructor(sink: Sink, what: string, isShown: boolean) {
    this.#sink = sink;
    this.#what = oneLine(what);
    if (!isShown || sink.isTTY !== true) return;
    this.#timer = setInterval(() => this.#draw(), EVERY_MS);
    this.#draw();
  }

  get isShown(): boolean {
    return this.#timer !== undefined;
  }

  /** Bytes so far. */
  get done(): number {
    return this.#done;
  }

  /** How many bytes there will be. */
  set total(count: number) {
    this.#total = count;
  }

  add(count: number): void {
    this.#done += count;
  }

  [Symbol.dispose](): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#sink.write('\r\u001b[K');
  }

  #draw(): void {
    const width = (this.#sink.columns ?? 80) - 1;
    this.#sink.write(
      `\r\u001b[K${lineOf(this.#what, this.#done, this.#total, performance.now() - this.#began, width)}`,
    );
  }
}

/** The line: what, a bar where the total is known, how much, how fast, and how long still. */
export function lineOf(
  what: string,
  done: number,
  total: number | undefined,
  ms: number,
  width: number,
): string {
  const rate = ms > 0 ? (done / ms) * 1000 : 0;
  const speed = `${bytes(Math.round(rate))}/s`;
  const figures =
    total === undefined
      ? `${bytes(done)}  ${speed}`
      : `${Math.min(100, Math.floor((100 * done) / Math.max(1, total)))}%  ${bytes(done)} of ${bytes(total)}  ${speed}  ${leftOf(total - done, rate)}`;
  const bar = total === undefined ? '' : `[${barOf(done / Math.max(1, total))}]  `;
  const whole = `${bar}${figures}`;
  const tail = stringWidth(whole) + LEAST_NAME + 2 <= width ? whole : figures;
  const room = Math.max(0, width - stringWidth(tail) - 2);
  return `${what.slice(0, room).padEnd(Math.min(room, what.length))}  ${tail}`.slice(0, width);
}

function barOf(part: number): string {
  const full = Math.min(BAR, Math.max(0, Math.floor(part * BAR)));
  return '#'.repeat(full) + '-'.repeat(BAR - full);
}

function leftOf(count: number, rate: number): string {
  if (rate === 0 || count <= 0) return '';
  const seconds = Math.ceil(count / rate);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

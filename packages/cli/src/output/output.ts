import type { Outcome } from '../exit-codes.ts';
import { oneLine } from './text.ts';
import { table } from './table.ts';
import type { Column } from './table.ts';

/** Where text goes: a stream, or a test's own. */
export interface Sink {
  write(text: string | Uint8Array): boolean;
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

export interface OutputOptions {
  readonly json?: boolean | undefined;
  readonly quiet?: boolean | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What a command shows: results on stdout, everything else on stderr. */
export class Output {
  readonly isJson: boolean;
  readonly isQuiet: boolean;
  readonly #stdout: Sink;
  readonly #stderr: Sink;
  readonly #env: Environment;

  constructor(stdout: Sink, stderr: Sink, env: Environment, { json = false, quiet = false }: OutputOptions) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#env = env;
    this.isJson = json;
    this.isQuiet = quiet;
  }

  /** A list: a table that fits the terminal, ids alone when quiet, or JSON. */
  list<T>(items: readonly T[], columns: readonly Column<T>[], idOf: (item: T) => string): void {
    if (this.isJson) this.json(items);
    else if (this.isQuiet) this.lines(items.map(idOf));
    else {
      const width = this.#stdout.isTTY === true ? (this.#stdout.columns ?? 80) : Infinity;
      const [head = '', ...rows] = table(items, columns, width);
      this.lines([this.#bold(head), ...rows]);
    }
  }

  /** Something that was made, or is there: its id, or JSON. */
  made(value: object, id: string): void {
    if (this.isJson) this.json(value);
    else this.lines([id]);
  }

  /** What was done, with its JSON; the ids alone when quiet. */
  done(value: object, ids: readonly string[], text: string): void {
    if (this.isJson) this.json(value);
    else this.lines(this.isQuiet ? ids : [text]);
  }

  json(value: unknown): void {
    this.#stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
  }

  lines(lines: readonly string[]): void {
    for (const line of lines) this.#stdout.write(`${line}\n`);
  }

  /** A remark, which is no result. Nothing when quiet. */
  note(text: string): void {
    if (!this.isQuiet) this.#stderr.write(`${oneLine(text)}\n`);
  }

  /** A failure, in one line. */
  failure({ message, hint, code, exitCode }: Outcome): void {
    if (this.isJson) {
      this.#stderr.write(`${JSON.stringify({ error: message, hint, code, exit_code: exitCode })}\n`);
      return;
    }
    const line = `atoll: ${message}${hint === undefined ? '' : ` (${hint})`}`;
    this.#stderr.write(`${this.#paint(this.#stderr, '31', line)}\n`);
  }

  #bold(text: string): string {
    return this.#paint(this.#stdout, '1', text);
  }

  #paint({ isTTY }: Sink, code: string, text: string): string {
    const isPlain = isTTY !== true || (this.#env['NO_COLOR'] ?? '') !== '' || this.#env['TERM'] === 'dumb';
    return isPlain ? text : `\u001b[${code}m${text}\u001b[0m`;
  }
}

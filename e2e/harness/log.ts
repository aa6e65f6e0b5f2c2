import type { Readable } from 'node:stream';

// Enough for every line of a test file at the most talkative level.
const KEPT_CHARACTERS = 16 * 1024 * 1024;

const TAIL_LINES = 40;

export type LogLine = Readonly<Record<string, unknown>>;

/** What a daemon writes. */
export class Log {
  stdout = '';
  stderr = '';

  static of(stdout: Readable, stderr: Readable): Log {
    const log = new Log();
    stdout.setEncoding('utf8').on('data', (text: string) => {
      log.stdout = (log.stdout + text).slice(-KEPT_CHARACTERS);
    });
    stderr.setEncoding('utf8').on('data', (text: string) => {
      log.stderr = (log.stderr + text).slice(-KEPT_CHARACTERS);
    });
    return log;
  }

  /** All that is kept. */
  text(): string {
    return this.stdout + this.stderr;
  }

  /** The end of it, for a message. */
  tail(): string {
    return this.text().trim().split('\n').slice(-TAIL_LINES).join('\n');
  }

  /** The lines of standard output. Throws when one is not a JSON object. */
  lines(): LogLine[] {
    const whole = this.stdout.slice(0, this.stdout.lastIndexOf('\n') + 1);
    return whole
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as LogLine);
  }

  /** The first line with this message. */
  find(message: string): LogLine | undefined {
    if (!this.stdout.includes(message)) return undefined;
    return this.lines().find(({ msg }) => msg === message);
  }
}

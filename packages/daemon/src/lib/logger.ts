import pino from 'pino';
import type { Logger } from 'pino';
import pretty from 'pino-pretty';
import type { RequestScope } from './request-context.ts';

/** The daemon's log on standard output: JSON lines, or lines for people. Each carries the id of the request it belongs to. */
export function createLogger(format: 'json' | 'pretty', level: string, scope: RequestScope): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    mixin: () => ({ ...scope.current() }),
  };
  if (format === 'json') return pino(options);
  // In this thread and at once: a transport's worker would lose the last lines of a process that ends.
  return pino(
    options,
    pretty({ sync: true, colorize: process.stdout.isTTY, translateTime: 'SYS:HH:MM:ss.l' }),
  );
}

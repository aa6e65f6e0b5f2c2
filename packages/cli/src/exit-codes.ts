import {
  ApiError,
  AtollError,
  ConflictError,
  ConnectionError,
  ForbiddenError,
  InvalidRequestError,
  NotFoundError,
  StreamClosedError,
  TimeoutError,
  UnauthorizedError,
  UnavailableError,
  UnexpectedAnswerError,
  UnreachableError,
} from '@atoll/sdk';
import { CommanderError } from 'commander';
import { CommandError, EXIT, UsageError } from './errors.ts';
import { Interrupted } from './interrupts.ts';
import { oneLine } from './output/text.ts';

/** What each code means, for the reference. */
export const EXIT_MEANINGS: readonly (readonly [string, string])[] = [
  [`${EXIT.done}`, 'done'],
  [`${EXIT.failed}`, 'the daemon, or this machine, failed at it'],
  [`${EXIT.usage}`, 'the command line, or a value in it, is wrong'],
  [`${EXIT.notFound}`, 'nothing has that id, name or path'],
  [`${EXIT.conflict}`, 'taken, in use, or in a state that does not allow it'],
  [`${EXIT.unauthorized}`, 'the token is missing or wrong'],
  [`${EXIT.unavailable}`, 'there is no room for it now: the same may succeed later'],
  [`${EXIT.unreachable}`, 'the daemon, or the sandbox, cannot be reached, or was lost on the way'],
  [`${EXIT.timeout}`, 'no answer in time'],
  [
    `${EXIT.notRun}`,
    '`run`, `exec` and `shell`: any of the above; every other code is that of the program in the sandbox',
  ],
  [
    '130, 143, 129',
    'ended by Ctrl-C, SIGTERM, SIGHUP; what it had begun is undone, or the line on stderr says what is left',
  ],
];

/** How a failure is told: one line, perhaps a hint, and the exit code. */
export interface Outcome {
  readonly exitCode: number;
  readonly message: string;
  readonly hint: string | undefined;
  /** The daemon's code of the failure. */
  readonly code: string | undefined;
}

/** The only place where a failure becomes an exit code. */
export function outcomeOf(error: unknown): Outcome {
  const text = error instanceof Error ? error.message : String(error);
  const message = oneLine(error instanceof CommanderError ? text.replace(/^error: |\n\(.*\)$/gs, '') : text);
  const code = error instanceof ApiError ? error.code : undefined;
  return { exitCode: exitCodeOf(error), message, hint: hintOf(error), code };
}

function exitCodeOf(error: unknown): number {
  if (error instanceof Interrupted || error instanceof CommandError) return error.exitCode;
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof UsageError) return EXIT.usage;
  if (error instanceof InvalidRequestError)
    return error.code === 'INVALID_REQUEST'
      ? EXIT.usage
      : error.code === 'ENOENT'
        ? EXIT.notFound
        : EXIT.failed;
  if (error instanceof NotFoundError) return EXIT.notFound;
  if (error instanceof ConflictError) return EXIT.conflict;
  if (error instanceof UnauthorizedError || error instanceof ForbiddenError) return EXIT.unauthorized;
  if (error instanceof UnavailableError) return EXIT.unavailable;
  if (isUnreachable(error)) return EXIT.unreachable;
  if (error instanceof TimeoutError) return EXIT.timeout;
  // What the SDK itself refuses is an option or variable that makes no sense.
  if (error instanceof AtollError && error.constructor === AtollError) return EXIT.usage;
  return (error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT' ? EXIT.notFound : EXIT.failed;
}

function isUnreachable(error: unknown): boolean {
  return (
    error instanceof ConnectionError ||
    error instanceof UnexpectedAnswerError ||
    error instanceof StreamClosedError ||
    error instanceof UnreachableError
  );
}

function hintOf(error: unknown): string | undefined {
  if (error instanceof UsageError || error instanceof CommandError) return error.hint;
  if (error instanceof CommanderError)
    return /\((Did you mean .*)\)$/s.exec(error.message)?.[1] ?? '"atoll help" shows what there is';
  if (error instanceof UnauthorizedError) return 'set ATOLL_TOKEN, or pass --token-file';
  if (error instanceof ConnectionError)
    return error.message.startsWith('cannot reach')
      ? 'is it up? "atoll up" starts one here, ATOLL_URL or --url names another'
      : '"atoll status" tells whether it is back';
  if (error instanceof UnexpectedAnswerError) return 'check ATOLL_URL or --url';
  if (error instanceof NotFoundError) return HINTS[/^(\w+) not found/.exec(error.message)?.[1] ?? ''];
  if (error instanceof ApiError && error.code === 'NAME_HELD_BY_SNAPSHOT')
    return '"atoll snapshot ls" shows it, "atoll resume" brings it up';
  return undefined;
}

const HINTS: Readonly<Record<string, string>> = {
  sandbox: '"atoll ls" shows what lives, "atoll snapshot ls" what is kept',
  snapshot: '"atoll snapshot ls" shows what is kept, "atoll checkpoint ls" what was resumed',
  checkpoint: '"atoll checkpoint ls" shows them',
  image: '"atoll image ls" shows them',
  drive: '"atoll drive ls" shows them',
  pool: '"atoll pool ls" shows them',
  mount: '"atoll mount ls" shows them',
};

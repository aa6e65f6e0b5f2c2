import { z } from 'zod';
import { ERRNOS } from './errnos.ts';
import type { Errno } from './errnos.ts';
import { FAILURES } from './failures.ts';
import type { FailureCode } from './failures.ts';

/** Every code of an error body: the daemon's own failures, and those of the guest's file system. */
export type ErrorCode = FailureCode | Errno;

const CODES = Object.keys(FAILURES) as FailureCode[];

export const ErrorCodeSchema = z.enum([...CODES, ...ERRNOS]).meta({
  description:
    'Machine-readable kind of the failure; a closed set. x-status: the status it is answered with, 400 where none is named. x-retryable: the same call may succeed later.',
  'x-status': Object.fromEntries(CODES.map((code) => [code, FAILURES[code].status])),
  'x-retryable': CODES.filter((code) => FAILURES[code].retryable),
});

/** The body of every error response. */
export const ErrorBody = z
  .object({ error: z.string().describe('What went wrong and what to do.'), code: ErrorCodeSchema })
  .meta({ id: 'Error' });

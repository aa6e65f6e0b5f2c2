import { CLIENT_ERRORS } from './client-errors.ts';
import { SERVER_ERRORS } from './server-errors.ts';

/** Every failure of the daemon's own. The key is the `code` of an error body. */
export const FAILURES = { ...CLIENT_ERRORS, ...SERVER_ERRORS } as const;

export type FailureCode = keyof typeof FAILURES;

/** What a failure's message is made of. */
export type OperandsOf<C extends FailureCode> = Parameters<(typeof FAILURES)[C]['message']>[0];

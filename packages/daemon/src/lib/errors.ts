import type { ErrorCode } from '@atoll/contract/errors';
import { FAILURES } from '@atoll/contract/failures';
import type { FailureCode, OperandsOf } from '@atoll/contract/failures';
import type { Errno } from '@atoll/contract/errnos';

/** A failure with a code of the closed set. The message is made from the operands by the catalogue, never by hand. */
export class AtollError extends Error {
  override readonly name = 'AtollError';
  readonly code: ErrorCode;
  readonly status: number;

  private constructor(code: ErrorCode, status: number, message: string, cause: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
  }

  static of<C extends FailureCode>(code: C, operands: OperandsOf<C>, cause?: unknown): AtollError {
    // The catalogue pairs each code with its own operands; TypeScript cannot follow the pairing through an index.
    const { status, message } = FAILURES[code] as {
      status: number;
      message: (operands: OperandsOf<C>) => string;
    };
    return new AtollError(code, status, message(operands), cause);
  }

  /** A failure that the guest's own kernel reported; the caller's request was at fault. */
  static guest(errno: Errno, message: string): AtollError {
    return new AtollError(errno, 400, message, undefined);
  }
}

/** The text of anything thrown, with its causes, for a log line or as a reason inside another message. */
export function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown.cause === undefined ? thrown.message : `${thrown.message}: ${reasonOf(thrown.cause)}`;
}

/** Whether this, or what caused it, is one of these errors of the host's kernel. */
export function isErrno(thrown: unknown, ...errnos: readonly string[]): boolean {
  if (!(thrown instanceof Error)) return false;
  return errnos.includes((thrown as NodeJS.ErrnoException).code ?? '') || isErrno(thrown.cause, ...errnos);
}

/** All that keeps the daemon from starting, found together, one line each: what it is and what mends it. */
export abstract class StartFaults extends Error {
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.faults = faults;
  }
}

/** What this host lacks for what the settings ask for. */
export class HostFaults extends StartFaults {
  override readonly name = 'HostFaults';
}

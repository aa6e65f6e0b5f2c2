import { RETRYABLE_CODES, STATUS_OF } from './generated/api.ts';
import type { Error as ErrorBody } from './generated/api.ts';

/** Machine-readable kind of a failure: a closed set, with the errnos of the guest's file system (`ENOENT`, …) in it. */
export type ErrorCode = ErrorBody['code'];

/** What everything that this package throws by itself has in common. An abort passes through as its own reason. */
export class AtollError extends Error {
  override readonly name: string = 'AtollError';
}

/** The daemon cannot be reached, or was lost before its answer was whole. */
export class ConnectionError extends AtollError {
  override readonly name: string = 'ConnectionError';
  /** Address of the daemon. */
  readonly url: string;

  constructor(url: string, cause: unknown, isLost = false) {
    const code = systemCode(cause);
    const what =
      isLost || code === 'ECONNRESET' || code === 'UND_ERR_SOCKET'
        ? 'lost the connection to'
        : 'cannot reach';
    super(`${what} the Atoll daemon at ${url}${code === '' ? '' : ` (${code})`}`, { cause });
    this.url = url;
  }
}

/** A call took longer than its `timeoutMs`. */
export class TimeoutError extends AtollError {
  override readonly name: string = 'TimeoutError';
  readonly timeoutMs: number;

  constructor(what: string, timeoutMs: number) {
    super(`${what}: no answer within ${timeoutMs} ms`);
    this.timeoutMs = timeoutMs;
  }
}

/** A stream (output, terminal, tunnel) ended before its time, and the daemon said why: `sandbox destroyed`, for one. */
export class StreamClosedError extends AtollError {
  override readonly name: string = 'StreamClosedError';
  /** Close code of the WebSocket. */
  readonly closeCode: number;
  readonly reason: string;

  constructor(what: string, closeCode: number, reason: string) {
    super(`${what} ended: ${reason === '' ? `close code ${closeCode}` : reason}`);
    this.closeCode = closeCode;
    this.reason = reason;
  }
}

/** A file or folder of this machine that cannot be copied as it is, or one of a sandbox that must not come here. */
export class CopyError extends AtollError {
  override readonly name: string = 'CopyError';
}

/** An answer that is no Atoll daemon's: the address leads elsewhere, or something in between answered. */
export class UnexpectedAnswerError extends AtollError {
  override readonly name: string = 'UnexpectedAnswerError';
  readonly status: number;

  constructor(url: string, what: string, status: number) {
    super(`${what} was answered ${status}, but not by an Atoll daemon: is ${url} the right address?`);
    this.status = status;
  }
}

/** A refusal or failure that the daemon answered. */
export class ApiError extends AtollError {
  override readonly name: string = 'ApiError';
  /** HTTP status. */
  readonly status: number;
  readonly code: ErrorCode;
  /** Id of the request in the daemon's log; undefined for one of many results of a call, and where a browser hides it. */
  readonly requestId: string | undefined;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;

  constructor(status: number, code: ErrorCode, message: string, requestId?: string) {
    super(message);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.retryable = RETRYABLE_CODES.includes(code);
  }
}

/** 400: a field is refused, or the guest's file system refused, with its errno in `code`. */
export class InvalidRequestError extends ApiError {
  override readonly name: string = 'InvalidRequestError';
}
/** 401: the token is missing or wrong. */
export class UnauthorizedError extends ApiError {
  override readonly name: string = 'UnauthorizedError';
}
/** 403: the daemon does not serve the page that asked. */
export class ForbiddenError extends ApiError {
  override readonly name: string = 'ForbiddenError';
}
/** 404: nothing has that id or name. */
export class NotFoundError extends ApiError {
  override readonly name: string = 'NotFoundError';
}
/** 409: taken, in use, or in a state that does not allow it. */
export class ConflictError extends ApiError {
  override readonly name: string = 'ConflictError';
}
/** 413: the body is larger than the daemon takes. */
export class TooLargeError extends ApiError {
  override readonly name: string = 'TooLargeError';
}
/** 500: the daemon failed. */
export class InternalError extends ApiError {
  override readonly name: string = 'InternalError';
}
/** 502: the sandbox, or the server inside it, cannot be reached. */
export class UnreachableError extends ApiError {
  override readonly name: string = 'UnreachableError';
}
/** 503: there is no room for it now. */
export class UnavailableError extends ApiError {
  override readonly name: string = 'UnavailableError';
}
/** 504: the server inside the sandbox did not answer in time. */
export class PreviewTimeoutError extends ApiError {
  override readonly name: string = 'PreviewTimeoutError';
}

const CLASSES: Readonly<Record<number, typeof ApiError>> = {
  400: InvalidRequestError,
  401: UnauthorizedError,
  403: ForbiddenError,
  404: NotFoundError,
  409: ConflictError,
  413: TooLargeError,
  500: InternalError,
  502: UnreachableError,
  503: UnavailableError,
  504: PreviewTimeoutError,
};

/** How an error body was answered. */
export interface Answered {
  /** That of its code when absent. */
  readonly status?: number;
  readonly requestId?: string | undefined;
  /** In place of the body's own. */
  readonly message?: string;
}

/** The typed error of an error body. */
export function apiError({ error, code }: ErrorBody, answered: Answered = {}): ApiError {
  const { status = STATUS_OF[code] ?? 400, requestId, message = error } = answered;
  return new (CLASSES[status] ?? ApiError)(status, code, message, requestId);
}

/** An error body, or undefined when a text is none. */
export function parseErrorBody(text: string): ErrorBody | undefined {
  try {
    const { error, code } = JSON.parse(text) as Partial<ErrorBody>;
    return typeof error === 'string' && typeof code === 'string' ? { error, code } : undefined;
  } catch {
    return undefined;
  }
}

/** The system's name for what broke a connection; empty where the runtime tells none. */
export function systemCode(error: unknown): string {
  for (let each = error; each instanceof Error; each = each.cause) {
    const { code, errors } = each as { code?: unknown; errors?: readonly unknown[] };
    if (typeof code === 'string') return code;
    // Node tries each address of a name, and fails with all their failures.
    if (errors?.[0] !== undefined) return systemCode(errors[0]);
  }
  return '';
}

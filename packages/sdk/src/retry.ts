import { ApiError, ConnectionError, systemCode } from './errors.ts';

const ATTEMPTS = 3;
const FIRST_DELAY_MS = 100;

// What a connection fails with before a byte of the request is sent.
const UNSENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ConnectionRefused',
]);

/**
 * Makes a call, and makes it again where a repeat is harmless: a read that failed in between or found no room, and a removal that
 * never left. Nothing that makes something is sent twice.
 */
export async function withRetries<T>(
  method: string,
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let made = 1; ; made++) {
    try {
      return await attempt();
    } catch (error) {
      if (made >= ATTEMPTS || !isHarmless(method, error)) throw error;
      // Up to twice the time each, so that many callers do not come at once.
      await pause(FIRST_DELAY_MS * 2 ** made * (0.5 + Math.random()), signal);
    }
  }
}

function isHarmless(method: string, error: unknown): boolean {
  if (method === 'GET' || method === 'HEAD')
    return (
      error instanceof ConnectionError ||
      (error instanceof ApiError && error.status === 503 && error.retryable)
    );
  return method === 'DELETE' && error instanceof ConnectionError && UNSENT.has(systemCode(error.cause));
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
  });
  signal.throwIfAborted();
}

import { setTimeout as sleep } from 'node:timers/promises';
import { patient } from '../../packages/daemon/src/testing/patience.ts';

// A look takes longer where everything does.
const INTERVAL_MS = patient(20);

/** Asks again and again until the answer is true. Rejects, with what the last answer was, when that takes too long. */
export async function until(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  withinMs: number,
): Promise<void> {
  const end = performance.now() + patient(withinMs);
  while (!(await isTrue())) {
    if (performance.now() > end) throw new Error(`not within ${withinMs} ms: ${what}`);
    await sleep(INTERVAL_MS);
  }
}

/** Waits for a promise, but no longer than that. */
export async function within<T>(what: string, promise: Promise<T>, ms: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`not within ${ms} ms: ${what}`)), patient(ms));
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** How long a promise takes to settle, in milliseconds, and what comes of it. */
export async function timed<T>(promise: Promise<T>): Promise<{ value: T; ms: number }> {
  const started = performance.now();
  const value = await promise;
  return { value, ms: performance.now() - started };
}

/** What a promise rejects with, or undefined when it does not. May be awaited at any later time. */
export function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

import type { BareMachines } from './bare.ts';

/** What every scenario is given. */
export interface Lab {
  /** How many rounds are counted; one more is made first, which warms caches. */
  readonly rounds: number;
  /** Machines without the service. */
  readonly bare: BareMachines;
}

/** Makes one round more than the lab counts, and answers what the counted ones gave. */
export async function inRounds<T>(rounds: number, round: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let at = 0; at <= rounds; at += 1) {
    const result = await round();
    if (at > 0) results.push(result);
  }
  return results;
}

/** Milliseconds that a piece of work takes. */
export async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

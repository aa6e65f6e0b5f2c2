import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

/** Consecutive user or group ids of the host. */
export interface IdRange {
  readonly start: number;
  readonly count: number;
}

/** The largest range of a user's, by name or number, in a file as subuid(5) has it. */
export function largestRange(text: string, user: string, uid: number): IdRange | undefined {
  const ranges = text.split('\n').flatMap((line) => {
    const [owner, start, count] = line.trim().split(':');
    if (owner !== user && owner !== String(uid)) return [];
    return [{ start: Number(start), count: Number(count) }];
  });
  const whole = ranges.filter(({ start, count }) => Number.isInteger(start) && count > 0);
  return whole.toSorted((a, b) => b.count - a.count)[0];
}

/** Whether a user may map one certain group id. */
export function mayMap(text: string, user: string, uid: number, id: number): boolean {
  return text.split('\n').some((line) => {
    const [owner, start, count] = line.trim().split(':');
    if (owner !== user && owner !== String(uid)) return false;
    return id >= Number(start) && id < Number(start) + Number(count);
  });
}

/** A file of /etc; empty when it is missing. */
export async function readIds(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}

/**
 * Gives each machine a number of its own, below `count`, for as long as it lives. It follows from the machine's id where that is free, so
 * that a number is not had by one machine right after another. Nothing is written down: no machine outlives its daemon.
 */
export class Numbers {
  readonly #count: number;
  readonly #taken = new Set<number>();

  constructor(count: number) {
    this.#count = count;
  }

  /** Throws when all are taken. */
  take(id: string): number {
    const first = createHash('sha256').update(id).digest().readUInt32BE(0) % this.#count;
    for (let step = 0; step < this.#count; step += 1) {
      const number = (first + step) % this.#count;
      if (this.#taken.has(number)) continue;
      this.#taken.add(number);
      return number;
    }
    throw new Error(`all ${this.#count} subordinate ids are in use`);
  }

  giveBack(number: number): void {
    this.#taken.delete(number);
  }
}

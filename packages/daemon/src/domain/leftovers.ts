import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { reasonOf } from '../lib/errors.ts';
import type { AtPoint, FaultPoint } from '../lib/fault-points.ts';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

type ReleaseStep = Extract<FaultPoint, `release:${string}`>;

/**
 * What could not be given back. A host that has no file descriptor left, or whose tools fail, is well again later: a step of a release
 * that failed is tried again until it is done.
 */
export class Leftovers {
  readonly #atPoint: AtPoint;
  readonly #log: Logger;
  readonly #stop = new AbortController();
  readonly #pending = new Set<Promise<void>>();

  constructor(atPoint: AtPoint, log: Logger) {
    this.#atPoint = atPoint;
    this.#log = log;
  }

  /**
   * Does one step of the release of a sandbox. Never rejects: one that fails is logged and tried again in the background.
   * @param work harmless when it was done already, or in part.
   */
  async giveBack(step: ReleaseStep, id: string, work: () => Promise<void> | void): Promise<void> {
    const attempt = async () => {
      await this.#atPoint(step, { id });
      await work();
    };
    try {
      await attempt();
    } catch (error) {
      this.#log.error({ sandbox_id: id, step, reason: reasonOf(error) }, 'not given back: trying again');
      const repeated = this.#repeat(step, id, attempt);
      this.#pending.add(repeated);
      // One that failed for good stays, for `stop` to tell of.
      void repeated.then(
        () => this.#pending.delete(repeated),
        () => undefined,
      );
    }
  }

  /** Does the part of a release that is lost when it fails, which is logged. Never rejects. */
  async attempt(id: string, failed: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#log.error({ sandbox_id: id, reason: reasonOf(error) }, failed);
    }
  }

  /** Tries each of them a last time. Rejects when one fails: the next start finds what is left of it. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#pending);
  }

  async #repeat(step: ReleaseStep, id: string, attempt: () => Promise<void>): Promise<void> {
    const { signal } = this.#stop;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      await sleep(pause, undefined, { signal }).catch(() => undefined);
      try {
        await attempt();
        this.#log.info({ sandbox_id: id, step }, 'given back after all');
        return;
      } catch (error) {
        this.#log.warn({ sandbox_id: id, step, reason: reasonOf(error) }, 'still not given back');
        if (signal.aborted) throw error;
      }
    }
  }
}

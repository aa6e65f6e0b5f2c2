import type { Logger } from 'pino';
import { reasonOf } from '../lib/errors.ts';
import type { Activity } from './activity.ts';
import type { Registry } from './registry.ts';

export interface IdleOptions {
  /** Idle for this long a sandbox is snapshotted; undefined: never. */
  readonly suspendAfterMs: number | undefined;
  /** Idle for this long a sandbox is destroyed; undefined: never. */
  readonly destroyAfterMs: number | undefined;
}

/** A live sandbox as this looks at it. */
export interface Candidate {
  readonly id: string;
  /** Milliseconds since it was last of use. */
  readonly idleMs: number;
  /** A fork's state is its snapshot's, and a jailed sandbox has none that is saved: they cannot be snapshotted. */
  readonly canSuspend: boolean;
}

/** What is looked at, and what is done about it. */
export interface IdleActions {
  candidates(): readonly Candidate[];
  suspend(id: string): Promise<unknown>;
  destroy(id: string): Promise<void>;
}

// Looked at four times within the shorter timeout, but neither all the time nor hardly ever.
const CHECKS_A_TIMEOUT = 4;
const [SHORTEST_CHECK_MS, LONGEST_CHECK_MS] = [250, 5000];

const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [1000, 60_000];

interface Failed {
  readonly pauseMs: number;
  readonly retryAt: number;
}

/** What is live, and since when it is of no use: since its start, if it never was. */
export function idleCandidates(registry: Registry, activity: Activity): Candidate[] {
  return registry.list().map(({ sandbox: { id, isFork, jailed, poolId }, liveSince }) => ({
    id,
    idleMs: activity.idleMs(id) ?? performance.now() - liveSince,
    // A pool's own instance is frozen by its pool.
    canSuspend: !isFork && !jailed && poolId === undefined,
  }));
}

/**
 * Suspends and destroys what nobody uses. A sandbox whose suspension fails lives on; it is tried again after a pause that doubles,
 * until its destruction is due.
 */
export class Idle {
  readonly #actions: IdleActions;
  readonly #options: IdleOptions;
  readonly #log: Logger;
  readonly #failed = new Map<string, Failed>();
  readonly #underWay = new Map<string, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(actions: IdleActions, options: IdleOptions, log: Logger) {
    this.#actions = actions;
    this.#options = options;
    this.#log = log;
  }

  start(): void {
    const { suspendAfterMs = Infinity, destroyAfterMs = Infinity } = this.#options;
    const shorter = Math.min(suspendAfterMs, destroyAfterMs);
    if (shorter === Infinity) return;
    const every = Math.min(LONGEST_CHECK_MS, Math.max(SHORTEST_CHECK_MS, shorter / CHECKS_A_TIMEOUT));
    this.#timer = setInterval(() => this.#check(), every);
  }

  /** Begins nothing more, and waits for what is under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#underWay.values());
  }

  #check(): void {
    const candidates = this.#actions.candidates();
    const live = new Set(candidates.map(({ id }) => id));
    for (const id of this.#failed.keys()) if (!live.has(id)) this.#failed.delete(id);
    for (const candidate of candidates) {
      const work = this.#underWay.has(candidate.id) ? undefined : this.#due(candidate);
      if (work === undefined) continue;
      const done = work().finally(() => this.#underWay.delete(candidate.id));
      this.#underWay.set(candidate.id, done);
    }
  }

  /** What is to be done about a sandbox now. Destruction first: it is there for when suspension does not help. */
  #due({ id, idleMs, canSuspend }: Candidate): (() => Promise<void>) | undefined {
    const { suspendAfterMs = Infinity, destroyAfterMs = Infinity } = this.#options;
    if (idleMs >= destroyAfterMs) return () => this.#destroy(id, idleMs);
    const isPaused = performance.now() < (this.#failed.get(id)?.retryAt ?? 0);
    if (idleMs < suspendAfterMs || !canSuspend || isPaused) return undefined;
    return () => this.#suspend(id, idleMs);
  }

  async #suspend(id: string, idleMs: number): Promise<void> {
    try {
      const snapshotId = await this.#actions.suspend(id);
      this.#failed.delete(id);
      this.#log.info(
        { sandbox_id: id, snapshot_id: snapshotId, idle_ms: Math.round(idleMs) },
        'idle sandbox suspended',
      );
    } catch (error) {
      const pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * (this.#failed.get(id)?.pauseMs ?? FIRST_PAUSE_MS / 2));
      this.#failed.set(id, { pauseMs, retryAt: performance.now() + pauseMs });
      this.#log.warn(
        { sandbox_id: id, retry_in_ms: pauseMs, reason: reasonOf(error) },
        'idle sandbox not suspended: it lives on',
      );
    }
  }

  async #destroy(id: string, idleMs: number): Promise<void> {
    try {
      await this.#actions.destroy(id);
      this.#log.info({ sandbox_id: id, idle_ms: Math.round(idleMs) }, 'idle sandbox destroyed');
    } catch (error) {
      this.#log.warn({ sandbox_id: id, reason: reasonOf(error) }, 'idle sandbox not destroyed');
    }
  }
}

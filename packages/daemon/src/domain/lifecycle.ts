import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Deadline } from '../lib/deadline.ts';
import { AtollError, reasonOf } from '../lib/errors.ts';
import type { AtPoint } from '../lib/fault-points.ts';
import { Semaphore } from '../lib/semaphore.ts';
import type { Ending, History } from '../ports/history.ts';
import type { Metrics } from '../ports/metrics.ts';
import { settleDrives } from './drive-settling.ts';
import type { Leftovers } from './leftovers.ts';
import type { LiveSandbox, Registry } from './registry.ts';
import type { Running, Sandbox } from './sandbox.ts';
import type { Streams } from './streams.ts';
import { nowUnix } from './time.ts';

export interface LifecycleOptions {
  readonly bootTimeoutMs: number;
  /** Starts at a time; the others wait. More than the processors can carry makes all of them late. */
  readonly concurrentBoots: number;
}

export interface LifecyclePorts {
  readonly metrics: Metrics;
  readonly history: History;
  readonly leftovers: Leftovers;
  readonly atPoint: AtPoint;
}

/** How a sandbox comes to life. */
export interface Recipe {
  /** Brings it up; leaves nothing when it rejects. */
  readonly launch: (deadline: Deadline) => Promise<Running>;
  /** What its life changes elsewhere. When this rejects the sandbox is ended again. */
  readonly settle?: (deadline: Deadline) => Promise<void>;
}

// Another process may have the history's file locked for a moment, such as a person's shell or a backup.
const HISTORY_MS = 2000;
const HISTORY_PAUSE_MS = 50;

/** How a sandbox ends. */
export type EndOf = Omit<Ending, 'atUnix' | 'reason'> & { readonly reason: 'destroyed' | 'snapshotted' };

/** Starts sandboxes by whatever recipe, watches them, and ends them. */
export class Lifecycle {
  readonly #registry: Registry;
  readonly #streams: Streams;
  readonly #metrics: Metrics;
  readonly #history: History;
  readonly #leftovers: Leftovers;
  readonly #atPoint: AtPoint;
  readonly #options: LifecycleOptions;
  readonly #log: Logger;
  readonly #starts: Semaphore;
  /** Starts and stops under way, so that a shutdown can wait for them. */
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #shutdown = new AbortController();

  constructor(
    { metrics, history, leftovers, atPoint }: LifecyclePorts,
    registry: Registry,
    streams: Streams,
    options: LifecycleOptions,
    log: Logger,
  ) {
    this.#registry = registry;
    this.#streams = streams;
    this.#metrics = metrics;
    this.#history = history;
    this.#leftovers = leftovers;
    this.#atPoint = atPoint;
    this.#options = options;
    this.#log = log;
    this.#starts = new Semaphore(options.concurrentBoots);
  }

  /**
   * Brings a sandbox up by a recipe, and into service. Its name is taken first. Aborting, a shutdown or a failure undoes whatever
   * was done; one that has no code is told as BOOT_FAILED, or RESTORE_FAILED for what comes out of a snapshot.
   */
  async start(sandbox: Sandbox, recipe: Recipe, signal: AbortSignal): Promise<Sandbox> {
    return this.track(this.#start(sandbox, recipe, AbortSignal.any([signal, this.#shutdown.signal])));
  }

  /** Puts a sandbox that was to be snapshotted back into service. */
  goOn({ sandbox, running }: LiveSandbox): void {
    this.#registry.goLive(sandbox.id, running);
    this.#watch(sandbox, running);
  }

  /** Gives back all that a sandbox held, which is out of service already, and forgets it. What fails of that is logged. */
  async end(sandbox: Sandbox, running: Running, end: EndOf): Promise<void> {
    this.#streams.end(sandbox.id, end.reason);
    this.#countActive();
    await this.track(this.#end(sandbox, running, end));
  }

  /**
   * Waits for every start and stop under way, and lets no other start begin. `endAll` begins the stops of what is live, again and
   * again: a snapshot that fails puts its sandbox back into service.
   */
  async shutdown(endAll: () => void): Promise<void> {
    this.#shutdown.abort(AtollError.of('SHUTTING_DOWN', {}));
    this.#streams.shutdown();
    endAll();
    while (this.#underWay.size > 0) {
      await Promise.allSettled(this.#underWay);
      endAll();
    }
  }

  /** Has a shutdown wait for this. */
  track<T>(work: Promise<T>): Promise<T> {
    const settled = work.then(
      () => undefined,
      () => undefined,
    );
    this.#underWay.add(settled);
    void settled.then(() => this.#underWay.delete(settled));
    return work;
  }

  async #start(sandbox: Sandbox, recipe: Recipe, signal: AbortSignal): Promise<Sandbox> {
    const { id } = sandbox;
    this.#registry.reserve(sandbox);
    try {
      using _place = await this.#starts.acquire(signal);
      using deadline = Deadline.in(this.#options.bootTimeoutMs, 'the boot', signal);
      await this.#enter(sandbox, await recipe.launch(deadline), recipe.settle, deadline);
    } catch (error) {
      this.#registry.forget(id);
      this.#log.warn({ sandbox_id: id, reason: reasonOf(error) }, 'sandbox not created');
      throw asFailure(sandbox, error);
    }
    this.#metrics.sandboxCreated();
    this.#countActive();
    this.#log.info({ sandbox_id: id, sandbox_name: sandbox.name }, 'sandbox created');
    return sandbox;
  }

  /** Makes a sandbox that runs one that lives. When that cannot be written down, or settled, it is ended again. */
  async #enter(
    sandbox: Sandbox,
    running: Running,
    settle: Recipe['settle'],
    deadline: Deadline,
  ): Promise<void> {
    const { id } = sandbox;
    try {
      await this.#noteBeginning(sandbox, deadline);
    } catch (error) {
      await this.#release(sandbox, running);
      throw new Error('its history cannot be written', { cause: error });
    }
    try {
      await this.#atPoint('enter:written', { id, signal: deadline.signal });
      await settle?.(deadline);
    } catch (error) {
      await this.#noteEnd(sandbox, { reason: 'destroyed' });
      await this.#release(sandbox, running);
      throw error;
    }
    this.#registry.goLive(id, running);
    this.#watch(sandbox, running);
  }

  /** Notices when a machine ends by itself, and clears up behind it. */
  #watch(sandbox: Sandbox, { machine }: Running): void {
    const { id } = sandbox;
    void machine.exited.then(async (reason) => {
      const lost = this.#registry.lose(id, reason);
      if (lost === undefined) return; // It is being stopped: the end was asked for.
      this.#streams.end(id, 'lost');
      this.#log.warn({ sandbox_id: id, reason, console: machine.console() }, 'sandbox lost');
      await this.track(this.#clearUpBehind(lost));
      this.#countActive();
    });
  }

  async #clearUpBehind({ sandbox, running }: LiveSandbox): Promise<void> {
    await this.#noteEnd(sandbox, { reason: 'destroyed' });
    await this.#release(sandbox, running);
  }

  async #end(sandbox: Sandbox, running: Running, end: EndOf): Promise<void> {
    try {
      await this.#noteEnd(sandbox, end);
      // A snapshot's guest will go on with its drives as they are, and is paused: whoever gives back the rest would ask it in vain.
      await (end.reason === 'destroyed' ? this.#settle(sandbox, running) : running.machine.stop());
      await this.#release(sandbox, running);
    } finally {
      this.#registry.forget(sandbox.id);
    }
  }

  /** What of the drives cannot be written out is lost, as if the machine had been killed. */
  async #settle(sandbox: Sandbox, { machine, agent }: Running): Promise<void> {
    const drives = sandbox.drives.filter(({ readOnly }) => !readOnly).map(({ id }) => id);
    if (drives.length === 0) return;
    const about = { sandbox_id: sandbox.id, drive_ids: drives };
    this.#log.info(about, 'writing out drives');
    try {
      await settleDrives(sandbox, machine, agent);
    } catch (error) {
      this.#log.error({ ...about, reason: reasonOf(error) }, 'drives not written out');
    }
  }

  async #noteBeginning(sandbox: Sandbox, { signal }: Deadline): Promise<void> {
    for (const until = performance.now() + HISTORY_MS; ;) {
      try {
        this.#history.began(sandbox);
        return;
      } catch (error) {
        if (performance.now() > until) throw error;
        await sleep(HISTORY_PAUSE_MS, undefined, { signal });
      }
    }
  }

  #noteEnd({ id }: Sandbox, end: EndOf): Promise<void> {
    const ending = { ...end, atUnix: nowUnix() };
    return this.#leftovers.giveBack('release:history', id, () => this.#history.ended(id, ending));
  }

  async #release(sandbox: Sandbox, { resources }: Running): Promise<void> {
    try {
      await resources.disposeAsync();
    } catch (error) {
      this.#log.error({ sandbox_id: sandbox.id, reason: reasonOf(error) }, 'sandbox not cleaned up entirely');
    }
  }

  #countActive(): void {
    this.#metrics.sandboxesActive(this.#registry.list().length);
  }
}

/** What a failed start is told as. Of work that failed and whose undoing did, whoever answers the caller tells the first. */
function asFailure({ id, parentSnapshotId }: Sandbox, error: unknown): unknown {
  if (error instanceof AtollError || error instanceof SuppressedError) return error;
  const reason = reasonOf(error);
  if (parentSnapshotId === undefined) return AtollError.of('BOOT_FAILED', { id, reason }, error);
  return AtollError.of('RESTORE_FAILED', { id: parentSnapshotId, reason }, error);
}

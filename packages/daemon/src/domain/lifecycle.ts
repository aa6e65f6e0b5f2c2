import type { Logger } from 'pino';
import { Deadline } from '../lib/deadline.ts';
import { AtollError, reasonOf } from '../lib/errors.ts';
import { Semaphore } from '../lib/semaphore.ts';
import type { Ending, History } from '../ports/history.ts';
import type { Metrics } from '../ports/metrics.ts';
import { settleDrives } from './drive-settling.ts';
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
}

/** How a sandbox comes to life. */
export interface Recipe {
  /** Brings it up; leaves nothing when it rejects. */
  readonly launch: (deadline: Deadline) => Promise<Running>;
  /** What its life changes elsewhere. When this rejects the sandbox is ended again. */
  readonly settle?: () => Promise<void>;
}

/** How a sandbox ends. */
export type EndOf = Omit<Ending, 'atUnix' | 'reason'> & { readonly reason: 'destroyed' | 'snapshotted' };

/** Starts sandboxes by whatever recipe, watches them, and ends them. */
export class Lifecycle {
  readonly #registry: Registry;
  readonly #streams: Streams;
  readonly #metrics: Metrics;
  readonly #history: History;
  readonly #options: LifecycleOptions;
  readonly #log: Logger;
  readonly #starts: Semaphore;
  /** Starts and stops under way, so that a shutdown can wait for them. */
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #shutdown = new AbortController();

  constructor(
    { metrics, history }: LifecyclePorts,
    registry: Registry,
    streams: Streams,
    options: LifecycleOptions,
    log: Logger,
  ) {
    this.#registry = registry;
    this.#streams = streams;
    this.#metrics = metrics;
    this.#history = history;
    this.#options = options;
    this.#log = log;
    this.#starts = new Semaphore(options.concurrentBoots);
  }

  /**
   * Brings a sandbox up by a recipe, and into service. Its name is taken first. Aborting, a shutdown or a failure undoes whatever
   * was done.
   */
  async start(sandbox: Sandbox, recipe: Recipe, signal: AbortSignal): Promise<Sandbox> {
    return this.track(this.#start(sandbox, recipe, AbortSignal.any([signal, this.#shutdown.signal])));
  }

  /** Puts a sandbox that was to be snapshotted back into service. */
  goOn({ sandbox, running }: LiveSandbox): void {
    this.#registry.goLive(sandbox.id, running);
    this.#watch(sandbox, running);
  }

  /** Gives back all that a sandbox held, which is out of service already, and forgets it. */
  async end(sandbox: Sandbox, running: Running, end: EndOf): Promise<void> {
    this.#streams.end(sandbox.id, end.reason);
    this.#noteEnd(sandbox, end);
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
      await this.#enter(sandbox, await recipe.launch(deadline), recipe.settle);
    } catch (error) {
      this.#registry.forget(id);
      this.#log.warn({ sandbox_id: id, reason: reasonOf(error) }, 'sandbox not created');
      throw error;
    }
    this.#metrics.sandboxCreated();
    this.#countActive();
    this.#log.info({ sandbox_id: id, sandbox_name: sandbox.name }, 'sandbox created');
    return sandbox;
  }

  /** Makes a sandbox that runs one that lives. When that cannot be written down, or settled, it is ended again. */
  async #enter(sandbox: Sandbox, running: Running, settle: Recipe['settle']): Promise<void> {
    const { id } = sandbox;
    try {
      this.#history.began(sandbox);
    } catch (error) {
      await this.#release(sandbox, running);
      const reason = `its history cannot be written: ${reasonOf(error)}`;
      throw AtollError.of('BOOT_FAILED', { id, reason }, error);
    }
    try {
      await settle?.();
    } catch (error) {
      this.#noteEnd(sandbox, { reason: 'destroyed' });
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
      this.#noteEnd(sandbox, { reason: 'destroyed' });
      await this.track(this.#release(sandbox, lost.running));
      this.#countActive();
    });
  }

  async #end(sandbox: Sandbox, running: Running, { reason }: EndOf): Promise<void> {
    try {
      // A snapshot's guest will go on with its drives as they are.
      if (reason === 'destroyed') await this.#settle(sandbox, running);
      await this.#release(sandbox, running);
    } finally {
      this.#registry.forget(sandbox.id);
      this.#countActive();
    }
  }

  /** What of the drives cannot be written out is lost, as if the machine had been killed. */
  async #settle(sandbox: Sandbox, { machine, agent }: Running): Promise<void> {
    try {
      await settleDrives(sandbox, machine, agent);
    } catch (error) {
      this.#log.error({ sandbox_id: sandbox.id, reason: reasonOf(error) }, 'drives not written out');
    }
  }

  /** An end that cannot be written is the next start's to notice. */
  #noteEnd({ id }: Sandbox, end: EndOf): void {
    try {
      this.#history.ended(id, { ...end, atUnix: nowUnix() });
    } catch (error) {
      this.#log.error({ sandbox_id: id, reason: reasonOf(error) }, 'the end of a sandbox not written down');
    }
  }

  /** What cannot be given back is logged, and reclaimed at the daemon's next start. */
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

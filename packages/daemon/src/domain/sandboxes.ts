import type { CreateSandbox } from '@atoll/contract/sandboxes';
import type { Logger } from 'pino';
import { Deadline } from '../lib/deadline.ts';
import { AtollError, reasonOf } from '../lib/errors.ts';
import { Semaphore } from '../lib/semaphore.ts';
import type { History, HistoryQuery } from '../ports/history.ts';
import { assertRoom, specify } from './admission.ts';
import type { Sizes } from './admission.ts';
import type { Drives } from './drives.ts';
import type { Images } from './images.ts';
import { boot } from './launch.ts';
import type { BootInput, LaunchPorts } from './launch.ts';
import type { Registry } from './registry.ts';
import type { PastSandbox, Running, Sandbox } from './sandbox.ts';
import type { Streams } from './streams.ts';
import { nowUnix } from './time.ts';

export interface SandboxesOptions {
  readonly sizes: Sizes;
  readonly bootTimeoutMs: number;
  /** Boots at a time; the others wait. More than the processors can carry makes all of them late. */
  readonly concurrentBoots: number;
}

export interface SandboxPorts extends LaunchPorts {
  readonly history: History;
}

/** What a sandbox may ask for by its id. */
export interface Catalogues {
  readonly images: Images;
  readonly drives: Drives;
}

/** Creates, lists and ends sandboxes. */
export class Sandboxes {
  readonly #ports: SandboxPorts;
  readonly #registry: Registry;
  readonly #catalogues: Catalogues;
  readonly #streams: Streams;
  readonly #options: SandboxesOptions;
  readonly #log: Logger;
  readonly #boots: Semaphore;
  /** Creates and stops under way, so that a shutdown can wait for them. */
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #shutdown = new AbortController();

  constructor(
    ports: SandboxPorts,
    registry: Registry,
    streams: Streams,
    catalogues: Catalogues,
    options: SandboxesOptions,
    log: Logger,
  ) {
    this.#ports = ports;
    this.#registry = registry;
    this.#catalogues = catalogues;
    this.#streams = streams;
    this.#options = options;
    this.#log = log;
    this.#boots = new Semaphore(options.concurrentBoots);
  }

  /** Creates a sandbox; a command can run in it when this answers. Aborting undoes whatever was done. */
  async create(request: CreateSandbox, signal: AbortSignal): Promise<Sandbox> {
    const sandbox = specify(request, this.#options.sizes);
    const { images, drives } = this.#catalogues;
    const { imageId } = sandbox;
    drives.assertFree(sandbox.drives);
    const input = {
      env: request.env ?? {},
      rootfs: imageId === undefined ? undefined : images.find(imageId).path,
      drives: drives.forMachine(sandbox.drives),
    };
    // Nothing is waited for before the sandbox is in the registry: from then on it holds its image and drives.
    return this.#track(this.#launch(sandbox, input, AbortSignal.any([signal, this.#shutdown.signal])));
  }

  get(idOrName: string): Sandbox {
    return this.#registry.live(idOrName, 'be shown').sandbox;
  }

  /** The live sandboxes that carry all of these tags, oldest first. */
  list(tags: readonly (readonly [key: string, value: string])[]): Sandbox[] {
    return this.#registry
      .list()
      .map(({ sandbox }) => sandbox)
      .filter((sandbox) =>
        tags.every(([key, value]) => Object.hasOwn(sandbox.tags, key) && sandbox.tags[key] === value),
      );
  }

  /** Every sandbox that ever lived, newest first. */
  past(query: HistoryQuery): readonly PastSandbox[] {
    return this.#ports.history.list(query);
  }

  /** Ends a sandbox and removes all it held. One whose machine ended by itself is dismissed. */
  async destroy(idOrName: string): Promise<void> {
    const lost = this.#registry.lostId(idOrName);
    if (lost !== undefined) {
      this.#registry.forget(lost);
      return;
    }
    const { sandbox, running } = this.#registry.beginStop(idOrName);
    this.#streams.end(sandbox.id, 'destroyed');
    await this.#track(this.#end(sandbox, running));
    this.#log.info({ sandbox_id: sandbox.id }, 'sandbox destroyed');
  }

  /** Gives up every create and ends every sandbox; answers when nothing of them is left. */
  async shutdown(): Promise<void> {
    this.#shutdown.abort(AtollError.of('SHUTTING_DOWN', {}));
    this.#streams.shutdown();
    for (const { sandbox } of this.#registry.list()) void this.#track(this.destroy(sandbox.id));
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
  }

  async #launch(sandbox: Sandbox, input: BootInput, signal: AbortSignal): Promise<Sandbox> {
    const { id } = sandbox;
    this.#registry.reserve(sandbox);
    try {
      using _place = await this.#boots.acquire(signal);
      await assertRoom(sandbox, this.#ports.storage);
      await this.#catalogues.drives.assertReadable(sandbox.drives);
      using deadline = Deadline.in(this.#options.bootTimeoutMs, 'the boot', signal);
      const running = await boot(this.#ports, sandbox, input, deadline);
      await this.#enter(sandbox, running);
    } catch (error) {
      this.#registry.forget(id);
      this.#log.warn({ sandbox_id: id, reason: reasonOf(error) }, 'sandbox not created');
      throw error;
    }
    this.#ports.metrics.sandboxCreated();
    this.#countActive();
    this.#log.info({ sandbox_id: id, sandbox_name: sandbox.name }, 'sandbox created');
    return sandbox;
  }

  /** Makes a sandbox that runs one that lives. When that cannot be written down it is ended again. */
  async #enter(sandbox: Sandbox, running: Running): Promise<void> {
    const { id } = sandbox;
    try {
      this.#ports.history.began(sandbox);
    } catch (error) {
      await this.#release(sandbox, running);
      const reason = `its history cannot be written: ${reasonOf(error)}`;
      throw AtollError.of('BOOT_FAILED', { id, reason }, error);
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
      this.#noteEnd(sandbox);
      await this.#track(this.#release(sandbox, lost.running));
      this.#countActive();
    });
  }

  async #end(sandbox: Sandbox, running: Running): Promise<void> {
    this.#noteEnd(sandbox);
    try {
      await this.#release(sandbox, running);
    } finally {
      this.#registry.forget(sandbox.id);
      this.#countActive();
    }
  }

  /** An end that cannot be written is the next start's to notice. */
  #noteEnd({ id }: Sandbox): void {
    try {
      this.#ports.history.ended(id, { reason: 'destroyed', atUnix: nowUnix() });
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
    this.#ports.metrics.sandboxesActive(this.#registry.list().length);
  }

  #track<T>(work: Promise<T>): Promise<T> {
    const settled = work.then(
      () => undefined,
      () => undefined,
    );
    this.#underWay.add(settled);
    void settled.then(() => this.#underWay.delete(settled));
    return work;
  }
}

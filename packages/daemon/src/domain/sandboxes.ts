import type { CreateSandbox } from '@atoll/contract/sandboxes';
import type { Logger } from 'pino';
import type { Deadline } from '../lib/deadline.ts';
import type { History, HistoryQuery } from '../ports/history.ts';
import { specify } from './admission.ts';
import type { Sizes } from './admission.ts';
import type { Drives } from './drives.ts';
import type { Images } from './images.ts';
import type { Pools } from './pools.ts';
import { boot } from './launch.ts';
import type { LaunchPorts } from './launch.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Registry } from './registry.ts';
import type { PastSandbox, Sandbox } from './sandbox.ts';

export interface SandboxPorts extends LaunchPorts {
  readonly history: History;
}

/** What a sandbox may ask for by its id. */
export interface Catalogues {
  readonly images: Images;
  readonly drives: Drives;
  readonly pools: Pools;
}

/** Creates, lists and ends sandboxes. */
export class Sandboxes {
  readonly #ports: SandboxPorts;
  readonly #registry: Registry;
  readonly #lifecycle: Lifecycle;
  readonly #catalogues: Catalogues;
  readonly #sizes: Sizes;
  readonly #log: Logger;

  constructor(
    ports: SandboxPorts,
    registry: Registry,
    lifecycle: Lifecycle,
    catalogues: Catalogues,
    sizes: Sizes,
    log: Logger,
  ) {
    this.#ports = ports;
    this.#registry = registry;
    this.#lifecycle = lifecycle;
    this.#catalogues = catalogues;
    this.#sizes = sizes;
    this.#log = log;
  }

  /**
   * Creates a sandbox, warm where a pool has one ready; a command can run in it when this answers. Aborting undoes whatever was
   * done.
   */
  async create(request: CreateSandbox, signal: AbortSignal): Promise<Sandbox> {
    const sandbox = specify(request, this.#sizes, this.#ports.vmm.jailed);
    const { images, drives, pools } = this.#catalogues;
    const { imageId } = sandbox;
    drives.assertFree(sandbox.drives);
    const input = {
      env: request.env ?? {},
      rootfs: imageId === undefined ? undefined : images.find(imageId).path,
      drives: drives.forMachine(sandbox.drives),
    };
    const cold = async (claimer: Sandbox, deadline: Deadline) => {
      using _room = await this.#ports.admission.take(claimer);
      await drives.assertReadable(claimer.drives);
      return await boot(this.#ports, claimer, input, deadline);
    };
    // A wait for a place in a pool is not worth beginning for a name that is taken.
    this.#registry.assertNameFree(sandbox);
    return pools.launch(
      sandbox,
      input.env,
      cold,
      // Without a pool nothing is waited for before the sandbox is in the registry: from then on it holds its image and drives.
      (claimer, launch) =>
        this.#lifecycle.start(claimer, { launch: (deadline) => launch(claimer, deadline) }, signal),
      signal,
    );
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
    await this.#lifecycle.end(sandbox, running, { reason: 'destroyed' });
    this.#log.info({ sandbox_id: sandbox.id }, 'sandbox destroyed');
  }

  /** Gives up every create and ends every sandbox; answers when nothing of them is left. */
  async shutdown(): Promise<void> {
    await this.#lifecycle.shutdown(() => {
      for (const { sandbox } of this.#registry.list()) void this.destroy(sandbox.id);
    });
  }
}

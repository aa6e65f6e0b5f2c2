import { randomUUID } from 'node:crypto';
import { Deadline } from '../lib/deadline.ts';
import type { PoolSpec } from '../ports/pools.ts';
import type { Images } from './images.ts';
import { boot } from './launch.ts';
import type { LaunchPorts } from './launch.ts';
import type { Lifecycle } from './lifecycle.ts';
import { rehearse } from './rehearsal.ts';
import { awaken, load } from './restore.ts';
import type { Restoration } from './restore.ts';
import type { WarmWorks } from './replenisher.ts';
import type { Restores } from './restores.ts';
import type { Sandbox } from './sandbox.ts';
import type { SnapshotBook } from './snapshot-book.ts';
import type { Snapshots } from './snapshots.ts';
import { nowUnix } from './time.ts';
import type { Standby } from './warm-instance.ts';

// It takes some 60 ms, and some seconds on a host that is as busy as can be. Who waits for it gives up no sooner (pools.ts).
const LOAD_MS = 10_000;

/** Marks what a pool made, wherever sandboxes and snapshots are listed, with the pool's id. */
const POOL_TAG = 'atoll.pool';

export interface WarmContext {
  readonly ports: LaunchPorts;
  readonly lifecycle: Lifecycle;
  readonly snapshots: Snapshots;
  readonly restores: Restores;
  readonly book: SnapshotBook;
  readonly images: Images;
}

/** Makes the instances of pools: boots a sandbox, freezes it as a snapshot, and loads that when it is claimed. */
export class SnapshotWorks implements WarmWorks {
  readonly #context: WarmContext;

  constructor(context: WarmContext) {
    this.#context = context;
  }

  async freeze(pool: PoolSpec, signal: AbortSignal): Promise<string> {
    const { ports, lifecycle, snapshots, book, images } = this.#context;
    const sandbox = instanceOf(pool);
    const rootfs = pool.imageId === undefined ? undefined : images.find(pool.imageId).path;
    await lifecycle.start(
      sandbox,
      {
        launch: async (deadline) => {
          using _room = await ports.admission.take(sandbox);
          return await boot(ports, sandbox, { env: {}, rootfs, drives: [] }, deadline);
        },
      },
      signal,
    );
    const id = await snapshots.take(sandbox.id);
    // Nobody has talked to it under that address, and whoever claims it gets another.
    ports.leases.drop(book.held(id).record.identity, `snapshot ${id}`);
    return id;
  }

  left(): { poolId: string; snapshotId: string }[] {
    return this.#context.book
      .all()
      .flatMap(({ record: { id, poolId, retiredAtUnix } }) =>
        poolId === undefined || retiredAtUnix !== undefined ? [] : [{ poolId, snapshotId: id }],
      );
  }

  async load(snapshotId: string, machineId: string): Promise<Standby> {
    const { ports, restores, book } = this.#context;
    const snapshot = book.held(snapshotId);
    using deadline = Deadline.in(LOAD_MS, 'the loading of a warm instance');
    await restores.assertCompatible(snapshot, deadline.signal);
    const { vcpuCount, memSizeMib } = snapshot.record;
    const restoration: Restoration = {
      snapshot,
      claimLease: (within) => ports.leases.take(`sandbox ${machineId}`, within),
      freshIdentity: true,
      // Its own from the start, so that it can be snapshotted as quickly as any other.
      sharesMemory: false,
      drives: [],
    };
    using _room = await ports.admission.take({ vcpuCount, memSizeMib });
    const asleep = await load(ports, { id: machineId, vcpuCount, memSizeMib }, restoration, deadline);
    const loaded = await rehearse(asleep, machineId, deadline);
    let isAwake = false;
    return {
      exited: loaded.machine.exited,
      awaken: (sandbox, env, within) => {
        isAwake = true;
        return awaken(ports, loaded, sandbox, { env }, within);
      },
      dispose: () => (isAwake ? Promise.resolve() : loaded.resources.disposeAsync()),
    };
  }

  async remove(snapshotId: string): Promise<void> {
    const { snapshots, book } = this.#context;
    // Somebody may have resumed or deleted it: it is on the list of snapshots.
    if (book.isHeld(snapshotId)) await snapshots.remove(snapshotId);
  }
}

/** The sandbox that an instance is until it is frozen. */
function instanceOf({ id, vcpuCount, memSizeMib, imageId }: PoolSpec): Sandbox {
  return {
    id: randomUUID(),
    name: undefined,
    tags: { [POOL_TAG]: id },
    createdAtUnix: nowUnix(),
    vcpuCount,
    memSizeMib,
    imageId,
    egress: undefined,
    rateLimit: undefined,
    drives: [],
    parentSnapshotId: undefined,
    isFork: false,
    // Where machines are jailed no pool is kept warm.
    jailed: false,
    poolId: id,
  };
}

import type { Logger } from 'pino';
import { KeyedLock } from '../lib/keyed-lock.ts';
import type { DriveStore } from '../ports/drives.ts';
import type { Host } from '../ports/host.ts';
import type { ImageStore } from '../ports/images.ts';
import type { PoolStore } from '../ports/pools.ts';
import { Activity } from './activity.ts';
import { Admission } from './admission.ts';
import type { Sizes } from './admission.ts';
import { Archiver } from './archiver.ts';
import { Drives } from './drives.ts';
import { ExecStreams } from './exec-streams.ts';
import { Exec } from './exec.ts';
import { Guests } from './guests.ts';
import { Holders } from './holders.ts';
import { Idle, idleCandidates } from './idle.ts';
import type { IdleOptions } from './idle.ts';
import { Images } from './images.ts';
import type { LaunchPorts } from './launch.ts';
import { Leases } from './leases.ts';
import { Leftovers } from './leftovers.ts';
import { Lifecycle } from './lifecycle.ts';
import type { LifecycleOptions } from './lifecycle.ts';
import { Mounts } from './mounts.ts';
import { Names } from './names.ts';
import { Pools } from './pools.ts';
import { Previews } from './previews.ts';
import { Pruner } from './pruner.ts';
import { Ptys } from './ptys.ts';
import { recover } from './recover.ts';
import { Registry } from './registry.ts';
import { Replenisher } from './replenisher.ts';
import { Restores } from './restores.ts';
import type { RetentionPolicy } from './retention.ts';
import { Sandboxes } from './sandboxes.ts';
import type { SandboxPorts } from './sandboxes.ts';
import { SnapshotBook } from './snapshot-book.ts';
import { Snapshots } from './snapshots.ts';
import { Streams } from './streams.ts';
import { Tunnels } from './tunnels.ts';
import { SnapshotWorks } from './warm-works.ts';

/** What the service stands on. */
export interface ServicePorts extends Omit<SandboxPorts, 'leases' | 'leftovers' | 'admission'> {
  readonly host: Host;
  readonly imageStore: ImageStore;
  readonly driveStore: DriveStore;
  readonly poolStore: PoolStore;
}

export interface ServiceSettings extends LifecycleOptions {
  readonly sizes: Sizes;
  readonly captureTimeoutMs: number;
  readonly maxExecOutputBytes: number;
  readonly poolStandby: number;
  readonly idle: IdleOptions;
  readonly archiveAfterSecs: number | undefined;
  readonly retention: RetentionPolicy;
}

export type Service = Awaited<ReturnType<typeof openService>>;

/**
 * All of the domain on its ports, with what earlier runs left brought into order. `start` sets what works in the background going;
 * disposing of it ends that, and every sandbox.
 */
export async function openService(
  { host, imageStore, driveStore, poolStore, ...given }: ServicePorts,
  settings: ServiceSettings,
  log: Logger,
  signal: AbortSignal,
) {
  const [registry, book, leases] = [new Registry(), new SnapshotBook(), new Leases(given.network)];
  const admission = new Admission(host, given.storage);
  const leftovers = new Leftovers(given.atPoint, log);
  const ports: LaunchPorts & SandboxPorts = { ...given, leases, leftovers, admission };
  await recover({ ...ports, registry, book }, log, signal);

  const activity = new Activity();
  const streams = new Streams(ports.metrics, activity);
  const guests = new Guests(registry, activity);
  const lifecycle = new Lifecycle(ports, registry, streams, settings, log);
  const holders = new Holders(registry, book);
  const images = await Images.open(imageStore, holders, log);
  const drives = await Drives.open(driveStore, holders, log);
  const assertImage = (id: string) => void images.find(id);
  const { jailed } = ports.vmm;
  const pools = new Pools({ store: poolStore, assertImage, sizes: settings.sizes, jailed, log });
  await pools.restore();

  const locks = new KeyedLock();
  const archiver = new Archiver({ ...ports, book, locks, log }, settings.archiveAfterSecs);
  const context = {
    ports,
    registry,
    lifecycle,
    streams,
    book,
    drives,
    archiver,
    locks,
    log,
    limits: settings,
  };
  const [snapshots, restores] = [new Snapshots(context), new Restores(context)];
  const sandboxes = new Sandboxes(ports, registry, lifecycle, { images, drives, pools }, settings.sizes, log);
  const pruner = new Pruner(snapshots, book, settings.retention, log);
  const works = new SnapshotWorks({ ports, lifecycle, snapshots, restores, book, images });
  const replenisher = new Replenisher(pools, works, settings.poolStandby, log);
  await replenisher.adopt();
  const idleActions = {
    candidates: () => idleCandidates(registry, activity),
    suspend: (id: string) => snapshots.take(id),
    destroy: (id: string) => sandboxes.destroy(id),
  };
  const idle = new Idle(idleActions, settings.idle, log);
  const background = [...(jailed ? [] : [replenisher]), idle, archiver, pruner];

  return {
    registry,
    leases,
    streams,
    services: {
      ...{ sandboxes, snapshots, restores, pools, pruner, guests, images, drives },
      names: new Names(registry, sandboxes, restores),
      exec: new Exec(guests, ports.metrics, settings.maxExecOutputBytes),
      execStreams: new ExecStreams(guests, streams, log),
      ptys: new Ptys(guests, streams),
      previews: new Previews(guests, streams, ports.network),
      tunnels: new Tunnels(guests, streams),
      mounts: new Mounts(registry, guests, log),
      renderMetrics: () => ports.metrics.render(),
    },
    start: () => {
      for (const worker of background) worker.start();
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(background.map((worker) => worker.stop()));
      await sandboxes.shutdown();
      await leftovers.stop();
    },
  };
}

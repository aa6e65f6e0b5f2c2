import { join } from 'node:path';
import { pino } from 'pino';
import { Activity } from '../domain/activity.ts';
import { ExecStreams } from '../domain/exec-streams.ts';
import { Drives } from '../domain/drives.ts';
import { Archiver } from '../domain/archiver.ts';
import { Exec } from '../domain/exec.ts';
import { Guests } from '../domain/guests.ts';
import { Holders } from '../domain/holders.ts';
import { Images } from '../domain/images.ts';
import { Mounts } from '../domain/mounts.ts';
import { Leases } from '../domain/leases.ts';
import { Lifecycle } from '../domain/lifecycle.ts';
import { Previews } from '../domain/previews.ts';
import { Ptys } from '../domain/ptys.ts';
import { recover } from '../domain/recover.ts';
import { Tunnels } from '../domain/tunnels.ts';
import { Names } from '../domain/names.ts';
import { Pruner } from '../domain/pruner.ts';
import type { RetentionPolicy } from '../domain/retention.ts';
import { Pools } from '../domain/pools.ts';
import { Registry } from '../domain/registry.ts';
import { Restores } from '../domain/restores.ts';
import { Sandboxes } from '../domain/sandboxes.ts';
import { SnapshotBook } from '../domain/snapshot-book.ts';
import { Snapshots } from '../domain/snapshots.ts';
import { Streams } from '../domain/streams.ts';
import { KeyedLock } from '../lib/keyed-lock.ts';
import type { FaultPoint } from '../lib/fault-points.ts';
import { FakeAgent } from './fake-agent.ts';
import { FakeDrives } from './fake-drives.ts';
import { FakeHistory } from './fake-history.ts';
import { FakeImages } from './fake-images.ts';
import { FakeMetrics } from './fake-metrics.ts';
import { FakeNetwork } from './fake-network.ts';
import { FakePools } from './fake-pools.ts';
import { FakeSnapshots } from './fake-snapshots.ts';
import { FakeStorage } from './fake-storage.ts';
import { FakeVmm } from './fake-vmm.ts';

export interface FakeSettings {
  readonly sizes: {
    readonly vcpuCount: number;
    readonly maxVcpuCount: number;
    readonly memSizeMib: number;
    readonly maxMemSizeMib: number;
  };
  readonly devices?: number;
  readonly maxOutputBytes?: number;
  readonly retention?: Partial<RetentionPolicy>;
  /** The storage of a service that has ended, for the next one on it. */
  readonly storage?: FakeStorage;
}

// Nothing waits for it: a fake answers at once, on a host that may be as busy as can be.
const BOOT_MS = 30_000;
const BOOTS = 2;

/** The whole domain on fakes, recovered as at a daemon's start. Disposing of it shuts it down. */
export async function fakeService(settings: FakeSettings) {
  const storage = settings.storage ?? (await FakeStorage.open());
  const snapshotsDir = join(storage.machinesDir, '../snapshots');
  const fakes = {
    vmm: new FakeVmm(),
    agent: new FakeAgent(),
    storage,
    snapshots: await FakeSnapshots.open(snapshotsDir, storage.machinesDir),
    network: new FakeNetwork(settings.devices ?? 4),
    metrics: new FakeMetrics(),
    history: new FakeHistory(),
  };
  /** Called at every point; a test puts its own here. */
  const faults = { at: (_point: FaultPoint): void => undefined };
  const leases = new Leases(fakes.network);
  const ports = { ...fakes, leases, atPoint: (point: FaultPoint) => faults.at(point) };
  const [log, registry, book] = [pino({ level: 'silent' }), new Registry(), new SnapshotBook()];
  await recover({ ...fakes, leases, registry, book }, log, AbortSignal.timeout(BOOT_MS));
  const options = { bootTimeoutMs: BOOT_MS, concurrentBoots: BOOTS };
  const activity = new Activity();
  const streams = new Streams(fakes.metrics, activity);
  const lifecycle = new Lifecycle(fakes, registry, streams, options, log);
  const holders = new Holders(registry, book);
  const imageStore = new FakeImages();
  const images = await Images.open(imageStore, holders, log);
  const driveStore = await FakeDrives.open();
  const drives = await Drives.open(driveStore, holders, log);
  const assertImage = (id: string) => void images.find(id);
  const pools = new Pools({ store: new FakePools(), assertImage, sizes: settings.sizes, log });
  const catalogues = { images, drives, pools };
  const sandboxes = new Sandboxes(ports, registry, lifecycle, catalogues, settings.sizes, log);
  const locks = new KeyedLock();
  const archiver = new Archiver({ ...fakes, book, leases, locks, log }, undefined);
  const context = { ports, registry, lifecycle, streams, drives, book, archiver, locks, log };
  const restores = new Restores(context);
  const guests = new Guests(registry, activity);
  const snapshots = new Snapshots(context);
  const services = {
    sandboxes,
    snapshots,
    pruner: new Pruner(snapshots, book, settings.retention ?? {}, log),
    restores,
    names: new Names(registry, sandboxes, restores),
    pools,
    guests,
    images,
    drives,
    mounts: new Mounts(registry, guests, log),
    exec: new Exec(guests, fakes.metrics, settings.maxOutputBytes ?? 64),
    execStreams: new ExecStreams(guests, streams, log),
    ptys: new Ptys(guests, streams),
    previews: new Previews(guests, streams),
    tunnels: new Tunnels(guests, streams),
    renderMetrics: () => fakes.metrics.render(),
  };
  const stack = new AsyncDisposableStack();
  if (settings.storage === undefined) stack.use(storage);
  stack.use(driveStore);
  stack.defer(() => sandboxes.shutdown());
  return {
    fakes,
    imageStore,
    driveStore,
    faults,
    leases,
    registry,
    services,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

import { join } from 'node:path';
import { pino } from 'pino';
import type { Logger } from 'pino';
import { onTestFinished } from 'vitest';
import type { RetentionPolicy } from '../domain/retention.ts';
import { openService } from '../domain/service.ts';
import type { AtPoint } from '../lib/fault-points.ts';
import { FakeAgent } from './fake-agent.ts';
import { FakeDrives } from './fake-drives.ts';
import { FakeHistory } from './fake-history.ts';
import { FakeHost } from './fake-host.ts';
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
  /** Whether machines are jailed. */
  readonly jailed?: boolean;
  /** How many network identities there are. */
  readonly addresses?: number;
  readonly maxOutputBytes?: number;
  readonly retention?: RetentionPolicy;
  /** The longest that the start may take. */
  readonly startMs?: number;
  readonly log?: Logger;
  /** Called at every point from the start on. */
  readonly atPoint?: AtPoint;
  /** The storage of a service that has ended, for the next one on it in the same test. */
  readonly storage?: FakeStorage;
}

// Nothing waits for it: a fake answers at once, on a host that may be as busy as can be.
const BOOT_MS = 30_000;
const BOOTS = 2;

/**
 * The whole domain on fakes, recovered as at a daemon's start. Disposing of it shuts it down. What it has on disk goes with the test that
 * runs, also where the start fails or nothing shuts it down.
 */
export async function fakeService(settings: FakeSettings) {
  const files = new AsyncDisposableStack();
  onTestFinished(() => files.disposeAsync());
  const storage = settings.storage ?? files.use(await FakeStorage.open());
  const snapshotsDir = join(storage.machinesDir, '../snapshots');
  const fakes = {
    vmm: new FakeVmm(settings.jailed),
    agent: new FakeAgent(),
    storage,
    snapshots: await FakeSnapshots.open(snapshotsDir, storage.machinesDir),
    network: new FakeNetwork(settings.devices ?? 4, settings.addresses),
    host: new FakeHost(),
    metrics: new FakeMetrics(),
    history: new FakeHistory(),
  };
  /** Called at every point; a test puts its own here. */
  const faults: { at: AtPoint } = { at: settings.atPoint ?? (() => undefined) };
  /** The longest that a boot, a restore or a capture may take that begins now. */
  const limits = { ms: BOOT_MS };
  const imageStore = new FakeImages();
  const driveStore = files.use(await FakeDrives.open());
  const stores = { imageStore, driveStore, poolStore: new FakePools() };
  const log = settings.log ?? pino({ level: 'silent' });
  const service = await openService(
    { ...fakes, ...stores, atPoint: (point, passing) => faults.at(point, passing) },
    {
      sizes: settings.sizes,
      get bootTimeoutMs() {
        return limits.ms;
      },
      get captureTimeoutMs() {
        return limits.ms;
      },
      concurrentBoots: BOOTS,
      maxExecOutputBytes: settings.maxOutputBytes ?? 64,
      poolStandby: 0,
      idle: { suspendAfterMs: undefined, destroyAfterMs: undefined },
      archiveAfterSecs: undefined,
      retention: settings.retention ?? {},
    },
    log,
    AbortSignal.timeout(settings.startMs ?? BOOT_MS),
  );
  return {
    log,
    fakes,
    imageStore,
    driveStore,
    faults,
    limits,
    leases: service.leases,
    registry: service.registry,
    services: service.services,
    [Symbol.asyncDispose]: service[Symbol.asyncDispose],
  };
}

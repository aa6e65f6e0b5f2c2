import { H2GuestAgent } from './adapters/agent-h2/agent.ts';
import { SqliteHistory } from './adapters/history-sqlite/history.ts';
import { MetadataServer } from './adapters/metadata-http/server.ts';
import { PromMetrics } from './adapters/metrics-prom/metrics.ts';
import { claimBridge } from './adapters/network-linux/claim.ts';
import { NameServer } from './adapters/network-linux/name-server.ts';
import { LinuxNetwork } from './adapters/network-linux/network.ts';
import { LocalDrives } from './adapters/storage-local/drives.ts';
import { LocalImages } from './adapters/storage-local/images.ts';
import { LocalPools } from './adapters/storage-local/pools.ts';
import { LocalSnapshots } from './adapters/storage-local/snapshots.ts';
import { LocalStorage } from './adapters/storage-local/storage.ts';
import { QemuVmm } from './adapters/vmm-qemu/vmm.ts';
import type { Config } from './config.ts';
import { Activity } from './domain/activity.ts';
import { ExecStreams } from './domain/exec-streams.ts';
import { Drives } from './domain/drives.ts';
import { Archiver } from './domain/archiver.ts';
import { Exec } from './domain/exec.ts';
import { Guests } from './domain/guests.ts';
import { Holders } from './domain/holders.ts';
import { Idle, idleCandidates } from './domain/idle.ts';
import { Images } from './domain/images.ts';
import { Leases } from './domain/leases.ts';
import { Lifecycle } from './domain/lifecycle.ts';
import { Previews } from './domain/previews.ts';
import { Ptys } from './domain/ptys.ts';
import { Mounts } from './domain/mounts.ts';
import { recover } from './domain/recover.ts';
import { Names } from './domain/names.ts';
import { Pruner } from './domain/pruner.ts';
import { Pools } from './domain/pools.ts';
import { Registry } from './domain/registry.ts';
import { Replenisher } from './domain/replenisher.ts';
import { Restores } from './domain/restores.ts';
import { Sandboxes } from './domain/sandboxes.ts';
import { Streams } from './domain/streams.ts';
import { SnapshotBook } from './domain/snapshot-book.ts';
import { Snapshots } from './domain/snapshots.ts';
import { Tunnels } from './domain/tunnels.ts';
import { SnapshotWorks } from './domain/warm-works.ts';
import { buildApp } from './http/app.ts';
import { Deadline } from './lib/deadline.ts';
import { reasonOf } from './lib/errors.ts';
import type { AtPoint } from './lib/fault-points.ts';
import { KeyedLock } from './lib/keyed-lock.ts';
import { DirectoryLock } from './lib/lock.ts';
import { createLogger } from './lib/logger.ts';
import { RequestScope } from './lib/request-context.ts';
import { VERSION } from './version.ts';

// What the host has to answer before the first request: a trial of KVM, and old machines that end.
const START_MS = 30_000;

const RESOLV_CONF = '/etc/resolv.conf';

/**
 * Wires the adapters to the domain and the domain to HTTP, takes the state directory, clears what an earlier run left there,
 * and listens. Rejects, with all of it undone, when one of these fails. `atPoint` is for tests, which let things go wrong there.
 */
export async function startDaemon(
  config: Config,
  unknownVariables: readonly string[],
  atPoint: AtPoint = () => undefined,
) {
  const scope = new RequestScope();
  const log = createLogger(config.logFormat, config.logLevel, scope);
  for (const name of unknownVariables) log.warn({ name }, 'no such variable: it is ignored');

  await using stack = new AsyncDisposableStack();
  stack.use(await DirectoryLock.acquire(config.stateDir));
  if (config.snapshotsDir !== config.stateDir) stack.use(await DirectoryLock.acquire(config.snapshotsDir));

  using deadline = Deadline.in(START_MS, 'the start of the daemon');
  const storage = await LocalStorage.open(config.stateDir, config.baseRootfs, deadline.signal);
  const snapshots = stack.use(
    await LocalSnapshots.open({
      snapshotsDir: config.snapshotsDir,
      machinesDir: storage.machinesDir,
      archiveDir: config.archiveDir,
      onFault: (id, error) =>
        log.warn({ snapshot_id: id, reason: reasonOf(error) }, 'chain of disk layers not shortened'),
    }),
  );
  const vmm = await QemuVmm.create(
    {
      kernel: config.kernelPath,
      initramfs: config.initramfsPath,
      accelerator: config.accelerator,
      stateDir: config.stateDir,
    },
    deadline,
  );
  if (vmm.kvmFault !== undefined)
    log.warn({ reason: vmm.kvmFault }, 'no KVM: machines are emulated, which is slower');
  stack.use(await claimBridge(config.network.bridge));
  const network = await LinuxNetwork.create(config.network, deadline.signal);
  if (network.uplink === undefined) log.warn('the host has no default route: guests reach nothing beyond it');
  const history = stack.use(SqliteHistory.open(config.historyDbPath, log));
  const [registry, book, leases] = [new Registry(), new SnapshotBook(), new Leases(network)];
  await recover({ vmm, storage, snapshots, history, leases, registry, book }, log, deadline.signal);
  stack.use(await NameServer.start(network.plan, RESOLV_CONF, log, deadline));

  const metrics = new PromMetrics();
  const { gateway, metadataPort } = network.plan;
  const identityOf = (address: string) => registry.atAddress(address);
  stack.use(await MetadataServer.listen({ host: gateway, port: metadataPort, identityOf }));
  const activity = new Activity();
  const streams = new Streams(metrics, activity);
  const guests = new Guests(registry, activity);
  const exec = new Exec(guests, metrics, config.maxExecOutputBytes);
  const agent = new H2GuestAgent();
  const ports = { vmm, agent, storage, snapshots, network, leases, metrics, history, atPoint };
  const lifecycle = new Lifecycle(ports, registry, streams, config, log);
  const holders = new Holders(registry, book);
  const images = await Images.open(new LocalImages(config.imagesDir), holders, log);
  const drives = await Drives.open(new LocalDrives(config.drivesDir), holders, log);
  const assertImage = (id: string) => void images.find(id);
  const pools = new Pools({ store: new LocalPools(config.stateDir), assertImage, sizes: config.sizes, log });
  await pools.restore();
  const catalogues = { images, drives, pools };
  const sandboxes = new Sandboxes(ports, registry, lifecycle, catalogues, config.sizes, log);
  const locks = new KeyedLock();
  const archiver = new Archiver({ snapshots, book, leases, locks, log }, config.archiveAfterSecs);
  const context = { ports, registry, lifecycle, streams, book, drives, archiver, locks, log };
  const [taken, restores] = [new Snapshots(context), new Restores(context)];
  stack.defer(() => sandboxes.shutdown());
  const execStreams = new ExecStreams(guests, streams, log);
  const ptys = new Ptys(guests, streams);
  const previews = new Previews(guests, streams);
  const tunnels = new Tunnels(guests, streams);
  const works = new SnapshotWorks({ ports, lifecycle, snapshots: taken, restores, book, images });
  const replenisher = new Replenisher(pools, works, config.poolStandby, log);
  await replenisher.adopt();
  stack.defer(() => replenisher.stop());
  const idle = new Idle(
    {
      candidates: () => idleCandidates(registry, activity),
      suspend: (id) => taken.take(id),
      destroy: (id) => sandboxes.destroy(id),
    },
    config.idle,
    log,
  );
  stack.defer(() => idle.stop());
  stack.defer(() => archiver.stop());
  const pruner = new Pruner(taken, book, config.retention, log);
  stack.defer(() => pruner.stop());

  const mounts = new Mounts(registry, guests, log);
  const renderMetrics = () => metrics.render();
  const app = await buildApp(
    {
      sandboxes,
      snapshots: taken,
      restores,
      names: new Names(registry, sandboxes, restores),
      pools,
      pruner,
      guests,
      exec,
      execStreams,
      ptys,
      previews,
      tunnels,
      images,
      drives,
      mounts,
      renderMetrics,
    },
    { ...config, log, scope, version: VERSION },
  );
  stack.defer(() => app.close());
  // First of all: the server waits for its connections to end, and a WebSocket does not by itself.
  stack.defer(() => streams.shutdown());
  const url = await app.listen(config.listen);
  replenisher.start();
  idle.start();
  archiver.start();
  pruner.start();
  log.info({ url, accelerator: vmm.profile.accelerator, version: VERSION }, 'listening');

  return { url, log, stop: stack.move() };
}

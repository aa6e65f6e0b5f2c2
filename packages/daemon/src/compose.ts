import type { Logger } from 'pino';
import { H2GuestAgent } from './adapters/agent-h2/agent.ts';
import { SqliteHistory } from './adapters/history-sqlite/history.ts';
import { LinuxHost } from './adapters/host-linux/host.ts';
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
import { openService } from './domain/service.ts';
import { buildApp } from './http/app.ts';
import { Deadline } from './lib/deadline.ts';
import { reasonOf } from './lib/errors.ts';
import type { AtPoint } from './lib/fault-points.ts';
import { DirectoryLock } from './lib/lock.ts';
import { createLogger } from './lib/logger.ts';
import { RequestScope } from './lib/request-context.ts';
import { VERSION } from './version.ts';

// What the host has to answer before the first request, old machines that end among it. The trial of KVM, which is a boot, gets
// the time of one on top.
const START_MS = 30_000;

const RESOLV_CONF = '/etc/resolv.conf';

/**
 * Wires the adapters to the domain and the domain to HTTP, takes the state directory, clears what an earlier run left there,
 * and listens. Rejects, with all of it undone, when one of these fails and when `ending` aborts on the way. `atPoint` is for tests,
 * which let things go wrong there.
 */
export async function startDaemon(
  config: Config,
  unknownVariables: readonly string[],
  ending: AbortSignal,
  atPoint: AtPoint = () => undefined,
) {
  const scope = new RequestScope();
  const log = createLogger(config.logFormat, config.logLevel, scope);
  for (const name of unknownVariables) log.warn({ name }, 'no such variable: it is ignored');
  const logEnding = () => log.info({ reason: reasonOf(ending.reason) }, 'stopping');
  ending.addEventListener('abort', logEnding, { once: true });

  await using stack = new AsyncDisposableStack();
  using deadline = Deadline.in(START_MS + config.bootTimeoutMs, 'the start of the daemon', ending);
  const adapters = await openAdapters(config, stack, log, deadline);
  const { plan } = adapters.network;
  const service = await openService({ ...adapters, atPoint }, config, log, deadline.signal);
  stack.use(service);
  stack.use(await NameServer.start(plan, RESOLV_CONF, log, deadline));
  const identityOf = (address: string) => service.registry.atAddress(address);
  stack.use(await MetadataServer.listen({ host: plan.gateway, port: plan.metadataPort, identityOf }));

  const app = await buildApp(service.services, { ...config, log, scope, version: VERSION });
  stack.defer(() => app.close());
  // First of all: the server waits for its connections to end, and a WebSocket does not by itself.
  stack.defer(() => service.streams.shutdown());
  deadline.signal.throwIfAborted();
  const url = await app.listen(config.listen);
  service.start();
  const { accelerator } = adapters.vmm.profile;
  log.info({ url, accelerator, version: VERSION }, 'listening');

  return { url, log, stop: stack.move(), present: () => service.registry.present() };
}

/** Opens what the service stands on, and claims the directories and the bridge for this daemon. All of it is closed with the stack. */
async function openAdapters(config: Config, stack: AsyncDisposableStack, log: Logger, deadline: Deadline) {
  stack.use(await DirectoryLock.acquire(config.stateDir));
  if (config.snapshotsDir !== config.stateDir) stack.use(await DirectoryLock.acquire(config.snapshotsDir));
  const storage = await LocalStorage.open(config.stateDir, config.baseRootfs, deadline.signal);
  const { kernelPath: kernel, initramfsPath: initramfs, accelerator, stateDir } = config;
  const jail = jailOptions(config, storage.machinesDir);
  const onMachineFault = (id: string, error: unknown) =>
    log.error({ sandbox_id: id, reason: reasonOf(error) }, 'jail not cleared up');
  const vmm = await QemuVmm.create(
    { kernel, initramfs, accelerator, stateDir, jail, onFault: onMachineFault },
    deadline,
  );
  if (vmm.kvmFault !== undefined)
    log.warn({ reason: vmm.kvmFault }, 'no KVM: machines are emulated, which is slower');
  stack.use(await claimBridge(config.network.bridge));
  const { netlinkPath } = config;
  const network = stack.use(await LinuxNetwork.create({ ...config.network, netlinkPath }, deadline.signal));
  if (network.uplink === undefined) log.warn('the host has no default route: guests reach nothing beyond it');
  const onFault = (id: string, error: unknown) =>
    log.warn({ snapshot_id: id, reason: reasonOf(error) }, 'chain of disk layers not shortened');
  const { machinesDir } = storage;
  return {
    ...{ vmm, storage, network },
    host: new LinuxHost(),
    agent: new H2GuestAgent(),
    metrics: new PromMetrics(),
    history: stack.use(SqliteHistory.open(config.historyDbPath, log)),
    snapshots: stack.use(await LocalSnapshots.open({ ...config, machinesDir, onFault })),
    imageStore: new LocalImages(config.imagesDir),
    driveStore: new LocalDrives(config.drivesDir),
    poolStore: new LocalPools(config.stateDir),
  };
}

/** Undefined: no jails. */
function jailOptions({ jailer, network, ...config }: Config, machinesDir: string) {
  if (!jailer.enabled) return undefined;
  return {
    machines: network.poolSize,
    allowance: jailer,
    cgroup: jailer.cgroup,
    closedDirs: [machinesDir, config.drivesDir, config.imagesDir],
    files: {
      SERVICE_KERNEL_PATH: config.kernelPath,
      SERVICE_INITRAMFS_PATH: config.initramfsPath,
      SERVICE_BASE_ROOTFS: config.baseRootfs,
    },
  };
}

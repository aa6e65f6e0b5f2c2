import { entry } from './failure-entry.ts';

/** What failed in the daemon, on its host or in a guest, or has no room there: the failures of the statuses 5xx. */
export const SERVER_ERRORS = {
  INTERNAL: entry<{ requestId: string }>(
    500,
    false,
    (o) => `internal error; the daemon's log has the details under request ${o.requestId}`,
  ),
  MOUNT_MISSING: entry<{ path: string }>(
    500,
    true,
    (o) => `the mount tool reported success, but ${o.path} is no mount point; the mount was undone`,
  ),
  BOOT_FAILED: entry<{ id: string; reason: string }>(
    500,
    true,
    (o) => `sandbox ${o.id} did not boot: ${o.reason}`,
  ),
  SNAPSHOT_FAILED: entry<{ id: string; reason: string }>(
    500,
    true,
    (o) => `sandbox ${o.id} was not snapshotted: ${o.reason}`,
  ),
  RESTORE_FAILED: entry<{ id: string; reason: string }>(
    500,
    true,
    (o) => `snapshot ${o.id} was not brought up, and stays as it was: ${o.reason}`,
  ),
  SANDBOX_UNREACHABLE: entry<{ id: string; reason: string }>(
    502,
    false,
    (o) => `sandbox ${o.id} cannot be reached: ${o.reason}`,
  ),
  NOTHING_LISTENING: entry<{ id: string; port: number }>(
    502,
    true,
    (o) => `nothing listens on port ${o.port} inside sandbox ${o.id}`,
  ),
  PREVIEW_BROKEN: entry<{ id: string; port: number; reason: string }>(
    502,
    true,
    (o) => `the server on port ${o.port} inside sandbox ${o.id} did not answer in HTTP/1.1: ${o.reason}`,
  ),
  PREVIEW_TIMEOUT: entry<{ id: string; port: number; seconds: number }>(
    504,
    true,
    (o) =>
      `the server on port ${o.port} inside sandbox ${o.id} did not answer within ${o.seconds} s (SERVICE_PREVIEW_TIMEOUT_SECS)`,
  ),
  SHUTTING_DOWN: entry<object>(503, true, () => 'the daemon is shutting down'),
  NETWORK_POOL_EXHAUSTED: entry<{ what: 'devices' | 'addresses'; size: number }>(503, true, (o) =>
    o.what === 'addresses'
      ? `all ${o.size} network addresses are in use: delete a snapshot, or give SERVICE_BRIDGE_CIDR a larger network`
      : `all ${o.size} network devices are in use: end a sandbox, or raise SERVICE_TAP_POOL_SIZE`,
  ),
  POOL_EXHAUSTED: entry<{ pool: string; max: number; waitedMs: number }>(
    503,
    true,
    (o) =>
      `pool ${o.pool} is at its max_count of ${o.max} with nothing warm, and no slot was freed within ${o.waitedMs / 1000} s`,
  ),
  INSUFFICIENT_MEMORY: entry<{ needMib: number; freeMib: number }>(
    503,
    true,
    (o) => `not enough host memory: the sandbox needs ${o.needMib} MiB, ${o.freeMib} MiB can be had`,
  ),
  INSUFFICIENT_PROCESSES: entry<{ need: number; free: number }>(
    503,
    true,
    (o) =>
      `not enough processes: the sandbox needs ${o.need}, ${o.free} can be had: end a sandbox, or raise what limits them (TasksMax= of the unit, ulimit -u, kernel.threads-max)`,
  ),
  TOO_MANY_REQUESTS: entry<{ limit: number }>(
    503,
    true,
    (o) => `the daemon has ${o.limit} requests to answer already (SERVICE_MAX_CONCURRENT_REQUESTS)`,
  ),
  INSUFFICIENT_DISK: entry<{ needBytes: number; freeBytes: number; path: string }>(
    503,
    true,
    (o) =>
      `not enough disk space under ${o.path}: ${o.needBytes} bytes are needed, ${o.freeBytes} bytes are free`,
  ),
} as const;

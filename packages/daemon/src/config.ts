import { accessSync, constants, statSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { availableParallelism, homedir, tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { MIN_MEM_SIZE_MIB } from './domain/admission.ts';
import type { RetentionPolicy } from './domain/retention.ts';
import type { IdleOptions } from './domain/idle.ts';
import { readJailed, readNetworkSettings, readUser } from './host-settings.ts';
import { StartFaults } from './lib/errors.ts';

/** The daemon's settings, from its environment. Paths are absolute, sizes as the names say. */
export interface Config {
  readonly listen: { readonly host: string; readonly port: number };
  /** Undefined: no token is asked for. */
  readonly authToken: string | undefined;
  readonly kernelPath: string;
  readonly baseRootfs: string;
  readonly initramfsPath: string;
  readonly netlinkPath: string;
  readonly stateDir: string;
  readonly historyDbPath: string;
  readonly archiveDir: string;
  /** How long a held snapshot stays unpacked; undefined: for ever. */
  readonly archiveAfterSecs: number | undefined;
  readonly retention: RetentionPolicy;
  readonly imagesDir: string;
  readonly drivesDir: string;
  readonly snapshotsDir: string;
  readonly user: string;
  readonly network: ReturnType<typeof readNetworkSettings>;
  readonly accelerator: 'auto' | 'kvm' | 'tcg';
  readonly jailer: {
    readonly enabled: boolean;
    /** A delegated cgroup; undefined: the one that the daemon is started in. */
    readonly cgroup: string | undefined;
    /** What a monitor may use of memory beyond its guest's. */
    readonly memoryOverheadMib: number;
    /** Of its disks, for each virtual processor, each way; 0: no limit. */
    readonly ioBytesPerSecond: number;
  };
  readonly sizes: {
    readonly vcpuCount: number;
    readonly maxVcpuCount: number;
    readonly memSizeMib: number;
    readonly maxMemSizeMib: number;
  };
  readonly maxBodyBytes: number;
  readonly maxConnections: number;
  readonly maxConcurrentRequests: number;
  /** For the head of a request, and for each next part of a JSON body. */
  readonly requestTimeoutMs: number;
  /** How long a server inside a sandbox may take to answer with its headers. */
  readonly previewTimeoutMs: number;
  readonly maxExecOutputBytes: number;
  readonly idle: IdleOptions;
  /** How many instances of each pool are kept loaded. */
  readonly poolStandby: number;
  readonly bootTimeoutMs: number;
  /** The longest that taking a snapshot may be. */
  readonly captureTimeoutMs: number;
  readonly concurrentBoots: number;
  readonly logFormat: 'json' | 'pretty';
  readonly logLevel: string;
}

/** Every malformed variable of an environment: its name, its value, what it takes. */
export class ConfigError extends StartFaults {
  override readonly name = 'ConfigError';
}

type Environment = Readonly<Record<string, string | undefined>>;

// A year: beyond it a number is a slip of the pen.
const MAX_TIMEOUT_SECS = 31_536_000;

const MIB = 1024 * 1024;
// Beyond any disk.
const MAX_IO_BYTES = 2 ** 40;
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;

/** Reads variables one by one and collects what is wrong with them. */
class Reader {
  readonly faults: string[] = [];
  readonly read = new Set<string>();
  readonly #env: Environment;

  constructor(env: Environment) {
    this.#env = env;
  }

  /** The value; an empty one equals none. */
  text(name: string): string | undefined {
    this.read.add(name);
    const value = this.#env[name];
    return value === '' ? undefined : value;
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    return this.fault(name, text, `an integer from ${min} to ${max}`, fallback);
  }

  choice<T extends string>(name: string, choices: readonly T[], fallback: T): T {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const found = choices.find((choice) => choice === text);
    return found ?? this.fault(name, text, `one of ${choices.join(', ')}`, fallback);
  }

  path(name: string, fallback: string): string {
    const text = this.text(name);
    if (text === undefined || isAbsolute(text)) return text ?? fallback;
    return this.fault(name, text, 'an absolute path', fallback);
  }

  /** A file that must be there, since no sandbox boots without it. */
  file(name: string, fallback: string): string {
    const path = this.path(name, fallback);
    try {
      accessSync(path, constants.R_OK);
      if (statSync(path).isFile()) return path;
    } catch {
      // Said below, the same for a missing file and for one that is not a file.
    }
    return this.fault(name, path, 'the path of a readable file (npm run setup builds the default one)', path);
  }

  address(name: string, fallback: string): Config['listen'] {
    const text = this.text(name) ?? fallback;
    const match = /^(\[[0-9a-fA-F:]+\]|[^:\s]+):(\d{1,5})$/.exec(text);
    const port = Number(match?.[2]);
    if (match?.[1] !== undefined && port <= 65_535) return { host: match[1].replace(/^\[|\]$/g, ''), port };
    return this.fault(name, text, 'host:port, such as 127.0.0.1:7777', { host: '', port: 0 });
  }

  fault<T>(name: string, value: string, takes: string, fallback: T): T {
    this.faults.push(`${name}=${value}: takes ${takes}`);
    return fallback;
  }
}

/** Where the guest's kernel, root file system and initramfs are built: guest/lib.sh has the same rule. */
export function cacheDir(env: Environment): string {
  if (env.ATOLL_CACHE_DIR) return env.ATOLL_CACHE_DIR;
  if (process.getuid?.() === 0) return '/var/cache/atoll';
  return join(env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'atoll');
}

function defaultStateDir(env: Environment): string {
  if (process.getuid?.() === 0) return '/var/lib/atoll';
  return join(env.XDG_STATE_HOME ?? join(homedir(), '.local', 'state'), 'atoll');
}

/** One for each state directory, since no two daemons may share one. */
function defaultSnapshotsDir(stateDir: string): string {
  const mark = createHash('sha256').update(stateDir).digest('hex').slice(0, 12);
  return join(tmpdir(), `atoll-snapshots-${mark}`);
}

/** The one that destroys is there for when the one that keeps does not help, so it comes later. */
function idleTimeouts(reader: Reader): IdleOptions {
  const [suspend, destroy] = ['SERVICE_AUTO_SUSPEND_TIMEOUT_SECS', 'SERVICE_IDLE_TIMEOUT_SECS'] as const;
  const seconds = (name: string) => reader.integer(name, 0, 0, MAX_TIMEOUT_SECS) || undefined;
  const [suspendAfter, destroyAfter] = [seconds(suspend), seconds(destroy)];
  if (suspendAfter !== undefined && destroyAfter !== undefined && destroyAfter <= suspendAfter)
    reader.fault(destroy, String(destroyAfter), `more than ${suspend}, which is ${suspendAfter}`, 0);
  const ms = (secs: number | undefined) => (secs === undefined ? undefined : secs * 1000);
  return { suspendAfterMs: ms(suspendAfter), destroyAfterMs: ms(destroyAfter) };
}

/** A default may not lie above its ceiling. */
function size(
  reader: Reader,
  name: string,
  ceilingName: string,
  fallback: number,
  ceilingFallback: number,
  min: number,
) {
  const ceiling = reader.integer(ceilingName, ceilingFallback, min, 1_048_576);
  const value = reader.integer(name, Math.min(fallback, ceiling), min, 1_048_576);
  if (value > ceiling)
    reader.fault(name, String(value), `at most ${ceilingName}, which is ${ceiling}`, value);
  return { value, ceiling };
}

/**
 * Reads the daemon's settings. Throws ConfigError with every fault at once. `unknown` lists the SERVICE_ variables that
 * nobody reads: most often a misspelt one.
 */
export function loadConfig(env: Environment): { config: Config; unknown: readonly string[] } {
  const reader = new Reader(env);
  const current = join(cacheDir(env), 'current');
  const vcpu = size(reader, 'SERVICE_VCPU_COUNT', 'SERVICE_MAX_VCPU_COUNT', 2, 16, 1);
  const mem = size(reader, 'SERVICE_MEM_SIZE_MIB', 'SERVICE_MAX_MEM_SIZE_MIB', 512, 16_384, MIN_MEM_SIZE_MIB);
  const stateDir = reader.path('SERVICE_STATE_DIR', defaultStateDir(env));
  const config: Config = {
    listen: reader.address('SERVICE_LISTEN_ADDR', '127.0.0.1:7777'),
    authToken: reader.text('SERVICE_AUTH_TOKEN'),
    kernelPath: reader.file('SERVICE_KERNEL_PATH', join(current, 'vmlinux')),
    baseRootfs: reader.file('SERVICE_BASE_ROOTFS', join(current, 'rootfs.ext4')),
    initramfsPath: reader.file('SERVICE_INITRAMFS_PATH', join(current, 'initramfs.cpio')),
    netlinkPath: reader.file('SERVICE_NETLINK_PATH', join(current, 'netlink')),
    stateDir,
    historyDbPath: reader.path('SERVICE_HISTORY_DB_PATH', join(stateDir, 'history.db')),
    drivesDir: reader.path('SERVICE_DRIVES_DIR', join(stateDir, 'drives')),
    archiveDir: reader.path('SERVICE_ARCHIVE_DIR', join(stateDir, 'archive')),
    archiveAfterSecs: reader.integer('SERVICE_ARCHIVE_TIMEOUT_SECS', 0, 0, MAX_TIMEOUT_SECS) || undefined,
    retention: {
      keepLast: reader.integer('SERVICE_HISTORY_KEEP_LAST', 0, 0, 1_000_000) || undefined,
      maxAgeSecs: reader.integer('SERVICE_HISTORY_MAX_AGE_SECS', 0, 0, 10 * MAX_TIMEOUT_SECS) || undefined,
      maxBytes: reader.integer('SERVICE_HISTORY_MAX_BYTES', 0, 0, Number.MAX_SAFE_INTEGER) || undefined,
    },
    imagesDir: reader.path('SERVICE_IMAGES_DIR', join(stateDir, 'images')),
    snapshotsDir: reader.path('SERVICE_SNAPSHOTS_DIR', defaultSnapshotsDir(stateDir)),
    user: readUser(reader),
    network: readNetworkSettings(reader),
    accelerator: reader.choice('SERVICE_ACCEL', ['auto', 'kvm', 'tcg'], 'auto'),
    jailer: {
      enabled: readJailed(reader),
      cgroup: reader.path('SERVICE_JAILER_CGROUP', '') || undefined,
      memoryOverheadMib: reader.integer('SERVICE_JAILER_MEMORY_OVERHEAD_MIB', 192, 32, 65_536),
      ioBytesPerSecond: reader.integer('SERVICE_JAILER_IO_BYTES_PER_SEC', 256 * MIB, 0, MAX_IO_BYTES),
    },
    sizes: {
      vcpuCount: vcpu.value,
      maxVcpuCount: vcpu.ceiling,
      memSizeMib: mem.value,
      maxMemSizeMib: mem.ceiling,
    },
    maxBodyBytes: reader.integer('SERVICE_MAX_BODY_BYTES', 64 * MIB, 1024, 512 * MIB),
    maxConnections: reader.integer('SERVICE_MAX_CONNECTIONS', 4096, 1, 1_000_000),
    maxConcurrentRequests: reader.integer('SERVICE_MAX_CONCURRENT_REQUESTS', 1024, 1, 1_000_000),
    requestTimeoutMs: reader.integer('SERVICE_REQUEST_TIMEOUT_SECS', 30, 1, 3600) * 1000,
    previewTimeoutMs: reader.integer('SERVICE_PREVIEW_TIMEOUT_SECS', 30, 1, 3600) * 1000,
    maxExecOutputBytes: reader.integer('SERVICE_MAX_EXEC_OUTPUT_BYTES', 32 * MIB, 1024, 256 * MIB),
    idle: idleTimeouts(reader),
    poolStandby: reader.integer('SERVICE_POOL_STANDBY', 1, 0, 64),
    bootTimeoutMs: reader.integer('SERVICE_BOOT_TIMEOUT_SECS', 60, 1, 3600) * 1000,
    captureTimeoutMs: reader.integer('SERVICE_SNAPSHOT_TIMEOUT_SECS', 300, 1, 3600) * 1000,
    concurrentBoots: reader.integer('SERVICE_CONCURRENT_BOOTS', 2 * availableParallelism(), 1, 1024),
    logFormat: reader.choice('SERVICE_LOG_FORMAT', ['pretty', 'json'], 'pretty'),
    logLevel: reader.choice('SERVICE_LOG_LEVEL', LOG_LEVELS, 'info'),
  };
  if (reader.faults.length > 0) throw new ConfigError(reader.faults);
  const unknown = Object.keys(env).filter((name) => name.startsWith('SERVICE_') && !reader.read.has(name));
  return { config: Object.freeze(config), unknown };
}

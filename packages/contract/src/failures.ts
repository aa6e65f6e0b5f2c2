/** One kind of failure: its HTTP status, whether the same call may succeed later, and its message, written once. */
interface Entry<Operands> {
  readonly status: number;
  readonly retryable: boolean;
  readonly message: (operands: Operands) => string;
}

function entry<Operands>(
  status: number,
  retryable: boolean,
  message: (operands: Operands) => string,
): Entry<Operands> {
  return { status, retryable, message };
}

/** The kinds of things an id or name can ask for and not find. */
type Kind =
  | 'sandbox'
  | 'image'
  | 'drive'
  | 'mount'
  | 'pool'
  | 'snapshot'
  | 'checkpoint'
  | 'exec-stream session'
  | 'tunnel';

function access(readOnly: boolean): string {
  return readOnly ? 'read-only' : 'read-write';
}

/** Every failure of the daemon's own. The key is the `code` of an error body. */
export const FAILURES = {
  INVALID_REQUEST: entry<{ field: string; problem: string }>(400, false, (o) => `${o.field}: ${o.problem}`),
  IMAGE_SOURCE_MISSING: entry<{ path: string }>(
    400,
    false,
    (o) => `path: ${o.path} is not there on the daemon's host`,
  ),
  IMAGE_SOURCE_CLOSED: entry<{ path: string; user: string }>(
    400,
    false,
    (o) =>
      `path: ${o.path} cannot be read by ${o.user}, the user that the daemon runs as: make the file readable for others (chmod o+r) and every directory above it open to them (chmod o+x), or copy it to a place that is`,
  ),
  IMAGE_SOURCE_LINK: entry<{ path: string; target: string }>(
    400,
    false,
    (o) => `path: ${o.path} is a symbolic link, to ${o.target}: name the file itself`,
  ),
  IMAGE_SOURCE_NOT_FILE: entry<{ path: string; type: string }>(
    400,
    false,
    (o) => `path: ${o.path} is ${o.type}, not a regular file`,
  ),
  IMAGE_SOURCE_NOT_EXT4: entry<{ path: string; reason: string }>(
    400,
    false,
    (o) => `path: ${o.path} is no whole ext4 file system: ${o.reason}`,
  ),
  IMAGE_SOURCE_CHANGED: entry<{ path: string; hadBytes: number; hasBytes: number; writtenAt: string }>(
    400,
    true,
    (o) =>
      `path: ${o.path} changed while it was copied: it had ${o.hadBytes} bytes and has ${o.hasBytes}, last written at ${o.writtenAt}; nothing was registered`,
  ),
  MOUNT_FAILED: entry<{ exitCode: number; said: string }>(
    400,
    false,
    (o) => `mount failed (exit ${o.exitCode}): ${o.said}`,
  ),
  JAILED_NOT_SNAPSHOTTABLE: entry<{ id: string }>(
    400,
    false,
    (o) =>
      `sandbox ${o.id} is jailed (SERVICE_JAILER_ENABLED): a jailed sandbox is not snapshotted; keep what matters on a drive or in a mount`,
  ),
  UNAUTHORIZED: entry<object>(
    401,
    false,
    () => 'this route needs the header "Authorization: Bearer <token>" with the token of SERVICE_AUTH_TOKEN',
  ),
  CROSS_SITE: entry<object>(
    403,
    false,
    () => 'refused: a web page of another site sent this request, and the daemon has no token configured',
  ),
  SERVICE_WORKER_REFUSED: entry<object>(
    403,
    false,
    () =>
      'previews serve no service workers where a token is configured: such a worker would see the token in links',
  ),
  NOT_FOUND: entry<{ kind: Kind; id: string }>(404, false, (o) => `${o.kind} not found: ${o.id}`),
  ROUTE_NOT_FOUND: entry<{ method: string; path: string }>(
    404,
    false,
    (o) => `no such route: ${o.method} ${o.path} (GET /docs lists them)`,
  ),
  METHOD_NOT_ALLOWED: entry<{ method: string; path: string; allow: string }>(
    405,
    false,
    (o) => `${o.path} does not take ${o.method}; it takes ${o.allow}`,
  ),
  NAME_TAKEN: entry<{ name: string; holder: string }>(
    409,
    false,
    (o) => `name already taken: ${o.name} (held by ${o.holder})`,
  ),
  NAME_HELD_BY_SNAPSHOT: entry<{ name: string; snapshot: string }>(
    409,
    false,
    (o) =>
      `${o.name} is the name of the held snapshot ${o.snapshot}: POST /sandboxes/get-or-create resumes it`,
  ),
  POOL_EXISTS: entry<{ id: string }>(409, false, (o) => `pool id already taken: ${o.id}`),
  ILLEGAL_STATE: entry<{ id: string; state: string; action: string }>(
    409,
    true,
    (o) => `sandbox ${o.id} is ${o.state}: it cannot ${o.action} now`,
  ),
  IMAGE_ID_TAKEN: entry<{ id: string }>(409, false, (o) => `image id already taken: ${o.id}`),
  IMAGE_IN_USE: entry<{ id: string; holders: readonly string[] }>(
    409,
    false,
    (o) => `image ${o.id} is in use by ${o.holders.join(', ')}`,
  ),
  SESSION_ENDED: entry<{ id: string }>(
    409,
    false,
    (o) => `the command of exec-stream session ${o.id} has ended: it takes no input`,
  ),
  STDIN_FULL: entry<{ id: string }>(
    409,
    true,
    (o) =>
      `the command of exec-stream session ${o.id} does not read its input; what waits for it is still there`,
  ),
  TOO_MANY_STREAMS: entry<{ id: string; kind: string; limit: number }>(
    409,
    true,
    (o) => `sandbox ${o.id} has ${o.limit} ${o.kind} sessions open, which is the most it takes`,
  ),
  PORT_IN_USE: entry<{ id: string; port: number }>(
    409,
    false,
    (o) => `port ${o.port} is in use inside sandbox ${o.id}`,
  ),
  TUNNEL_ATTACHED: entry<{ id: string }>(
    409,
    false,
    (o) => `tunnel ${o.id} has had its caller: a tunnel is attached once`,
  ),
  DRIVE_CONFLICT: entry<{
    id: string;
    readOnly: boolean;
    holders: readonly { readonly holder: string; readonly readOnly: boolean }[];
  }>(409, false, (o) => {
    const holders = o.holders.map(({ holder, readOnly }) => `${holder} (${access(readOnly)})`).join(', ');
    return `drive ${o.id} cannot be attached ${access(o.readOnly)}: it is held by ${holders}, and a read-write attachment needs exclusive access`;
  }),
  DRIVE_NEEDS_RECOVERY: entry<{ id: string }>(
    409,
    false,
    (o) =>
      `drive ${o.id} cannot be attached read-only: its last writer was cut off; attach it read-write once, which replays its journal, and delete that sandbox`,
  ),
  DRIVE_IN_USE: entry<{ id: string; holders: readonly string[] }>(
    409,
    false,
    (o) => `drive ${o.id} is held by ${o.holders.join(', ')}`,
  ),
  SNAPSHOT_FORKED: entry<{ id: string; fork: string; action: string }>(
    409,
    true,
    (o) => `snapshot ${o.id} has a live fork, sandbox ${o.fork}: it cannot ${o.action} now`,
  ),
  IDENTITY_HELD: entry<{ id: string; address: string; holder: string }>(
    409,
    true,
    (o) =>
      `snapshot ${o.id}: its network identity ${o.address} is held by ${o.holder}; end that, or pass fresh_identity=true`,
  ),
  SNAPSHOT_INCOMPATIBLE: entry<{ id: string; what: string; recorded: string; actual: string }>(
    409,
    false,
    (o) =>
      `snapshot ${o.id} cannot be brought up: ${o.what} is ${o.actual}, and it was taken with ${o.recorded}`,
  ),
  FORK_NOT_SNAPSHOTTABLE: entry<{ id: string; snapshot: string }>(
    409,
    false,
    (o) =>
      `sandbox ${o.id} is a fork of snapshot ${o.snapshot}: a fork is not snapshotted, a clone or a resumed sandbox is`,
  ),
  AGENT_OUTDATED: entry<{ id: string }>(
    409,
    false,
    (o) =>
      `sandbox ${o.id} runs an agent of an older Atoll, which cannot do this: the agent of a snapshot is as old as the snapshot, a new sandbox has today's`,
  ),
  MOUNT_PATH_TAKEN: entry<{ bucket: string; path: string; sandboxId: string; id: string }>(
    409,
    false,
    (o) =>
      `mount_path already in use: bucket ${o.bucket} is mounted at ${o.path}; DELETE /sandboxes/${o.sandboxId}/mounts/${o.id} clears it`,
  ),
  MOUNT_PATH_BUSY: entry<{ path: string }>(
    409,
    true,
    (o) => `mount_path already in use: another request is mounting a bucket at ${o.path} just now`,
  ),
  REQUEST_TIMEOUT: entry<{ seconds: number }>(
    408,
    true,
    (o) => `the request did not come within ${o.seconds} s (SERVICE_REQUEST_TIMEOUT_SECS)`,
  ),
  BODY_TOO_LARGE: entry<{ limit: number }>(
    413,
    false,
    (o) => `body: takes at most ${o.limit} bytes (SERVICE_MAX_BODY_BYTES)`,
  ),
  UPGRADE_REQUIRED: entry<object>(
    426,
    false,
    () => 'this route takes a WebSocket handshake (RFC 6455), version 13',
  ),
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

export type FailureCode = keyof typeof FAILURES;

/** What a failure's message is made of. */
export type OperandsOf<C extends FailureCode> = Parameters<(typeof FAILURES)[C]['message']>[0];

import { entry } from './failure-entry.ts';

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

/** What is wrong with a request, or in the way of it as things stand: the failures of the statuses 4xx. */
export const CLIENT_ERRORS = {
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
} as const;

/** What the package offers. */
export { Atoll } from './atoll.ts';
export type { AtollOptions, ConnectOptions, Content, RawRequest } from './atoll.ts';
export { Checkpoint } from './checkpoints.ts';
export type { CallOptions } from './deadline.ts';
export { Drive } from './drives.ts';
export {
  ApiError,
  AtollError,
  ConflictError,
  ConnectionError,
  CopyError,
  ForbiddenError,
  InternalError,
  InvalidRequestError,
  NotFoundError,
  PreviewTimeoutError,
  StreamClosedError,
  TimeoutError,
  TooLargeError,
  UnauthorizedError,
  UnavailableError,
  UnexpectedAnswerError,
  UnreachableError,
} from './errors.ts';
export type { ErrorCode } from './errors.ts';
export type { ExecOptions, ExecResult } from './exec.ts';
export type { DirEntry, FileContent, Files } from './files.ts';
export type {
  Checkpoint as CheckpointInfo,
  CloneRequest,
  CreateDrive,
  CreateMount,
  CreatePool,
  CreateSandbox,
  Drive as DriveInfo,
  EgressPolicy,
  GetOrCreate,
  Image as ImageInfo,
  Mount,
  Pool as PoolInfo,
  Pruned,
  RateLimit,
  RegisterImage,
  Sandbox as SandboxInfo,
  Snapshot as SnapshotInfo,
  Stopped,
} from './generated/api.ts';
export type { Handle } from './handle.ts';
export { history } from './history.ts';
export type { HistoryOptions, HistoryRecord } from './history.ts';
export { Image } from './images.ts';
export type { Mounts } from './mounts.ts';
export { health, metrics, openapi } from './operational.ts';
export { Pool } from './pools.ts';
export type { Process, ProcessEvent, ProcessInfo, SpawnOptions } from './process.ts';
export { Sandbox, Snapshot } from './sandbox.ts';
export type { ListOptions } from './sandbox.ts';
export type { RestoreOptions, ResumeOptions, SnapshotFilter } from './snapshots.ts';
export type { WebSocketConstructor } from './socket.ts';
export type { PtyOptions, Terminal, TerminalSize } from './terminal.ts';
export type { Tunnel, TunnelOptions, TunnelTarget } from './tunnel.ts';

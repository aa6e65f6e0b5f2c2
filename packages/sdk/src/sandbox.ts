import { Atoll } from './atoll.ts';
import type { ConnectOptions } from './atoll.ts';
import type { CallOptions } from './deadline.ts';
import { apiError, NotFoundError } from './errors.ts';
import type { ApiError } from './errors.ts';
import { exec } from './exec.ts';
import type { ExecOptions, ExecResult } from './exec.ts';
import { Files } from './files.ts';
import type {
  CloneRequest,
  CreateSandbox,
  GetOrCreate,
  Sandbox as SandboxInfo,
  Snapshot as SnapshotInfo,
  Stopped,
} from './generated/api.ts';
import { withFields } from './handle.ts';
import type { Handle } from './handle.ts';
import { Mounts } from './mounts.ts';
import { previewPath } from './preview.ts';
import { Process } from './process.ts';
import type { ProcessInfo, SpawnOptions } from './process.ts';
import { Terminal } from './terminal.ts';
import type { PtyOptions } from './terminal.ts';
import { Tunnel } from './tunnel.ts';
import type { TunnelOptions } from './tunnel.ts';
import { findSnapshot, restoreQuery, resumeQuery } from './snapshots.ts';
import type { RestoreOptions, ResumeOptions, SnapshotFilter } from './snapshots.ts';

// Sandbox and Snapshot stand in one file because each makes the other.

/**
 * A live sandbox: a virtual machine with a kernel, files and a network of its own. What makes one answers when a command can run
 * in it. Every method throws ApiError when the daemon refuses, ConnectionError, TimeoutError, or its signal's reason.
 */
export class Sandbox implements AsyncDisposable {
  readonly id: string;
  readonly #atoll: Atoll;

  private constructor(atoll: Atoll, id: string) {
    this.#atoll = atoll;
    this.id = id;
  }

  /** Boots a sandbox. */
  static async create(body: CreateSandbox = {}, options: ConnectOptions = {}): Promise<Sandbox> {
    const atoll = Atoll.of(options);
    return new Sandbox(atoll, (await atoll.call('post', '/sandboxes', { body, ...options })).id);
  }

  /** A live sandbox by its id or name. */
  static async get(idOrName: string, options: ConnectOptions = {}): Promise<Handle<Sandbox, SandboxInfo>> {
    const atoll = Atoll.of(options);
    const info = await atoll.call('get', '/sandboxes/{id}', { params: { id: idOrName }, ...options });
    return withFields(new Sandbox(atoll, info.id), info);
  }

  /** The sandbox of that name: the live one, or its snapshot resumed, or a new one, as `created` tells. */
  static async getOrCreate(
    body: GetOrCreate,
    options: ConnectOptions = {},
  ): Promise<Handle<Sandbox, { created: boolean }>> {
    const atoll = Atoll.of(options);
    const { id, created } = await atoll.call('post', '/sandboxes/get-or-create', { body, ...options });
    return withFields(new Sandbox(atoll, id), { created });
  }

  /** The live sandbox of that name. Throws ConflictError when the name is that of a snapshot. */
  static async byName(name: string, options: ConnectOptions = {}): Promise<Sandbox> {
    const atoll = Atoll.of(options);
    const { id } = await atoll.call('get', '/sandboxes/by-name/{name}', { params: { name }, ...options });
    return new Sandbox(atoll, id);
  }

  /** The live sandboxes; with `tags` those that have all of them. */
  static async list(options: ListOptions = {}): Promise<Handle<Sandbox, SandboxInfo>[]> {
    const { tags = {}, ...rest } = options;
    const atoll = Atoll.of(rest);
    const query = Object.fromEntries(Object.entries(tags).map(([key, value]) => [`tag.${key}`, value]));
    const { sandboxes } = await atoll.call('get', '/sandboxes', { query, ...rest });
    return sandboxes.map((info) => withFields(new Sandbox(atoll, info.id), info));
  }

  /** Goes on where a snapshot stopped; the snapshot is a checkpoint of the history then. */
  static async resume(snapshotId: string, options: ResumeOptions & ConnectOptions = {}): Promise<Sandbox> {
    const atoll = Atoll.of(options);
    const request = { params: { id: snapshotId }, query: resumeQuery(options), ...options };
    return new Sandbox(atoll, (await atoll.call('post', '/snapshots/{id}/resume', request)).id);
  }

  /** Goes on where a snapshot stopped, and keeps the snapshot. One fork at a time, which is not snapshotted itself. */
  static async fork(snapshotId: string, options: RestoreOptions & ConnectOptions = {}): Promise<Sandbox> {
    const atoll = Atoll.of(options);
    const request = { params: { id: snapshotId }, query: restoreQuery(options), ...options };
    return new Sandbox(atoll, (await atoll.call('post', '/snapshots/{id}/fork', request)).id);
  }

  /** Makes many of one snapshot, each with an identity of its own. One that could not be made is an error in its place. */
  static async clone(
    snapshotId: string,
    body: CloneRequest,
    options: ConnectOptions = {},
  ): Promise<(Sandbox | ApiError)[]> {
    const atoll = Atoll.of(options);
    const request = { params: { id: snapshotId }, body, ...options };
    const { sandboxes } = await atoll.call('post', '/snapshots/{id}/clone', request);
    return sandboxes.map((each) => ('id' in each ? new Sandbox(atoll, each.id) : apiError(each)));
  }

  /** Goes on where a checkpoint of the history stopped, and keeps the checkpoint. */
  static async restore(
    checkpointId: string,
    options: RestoreOptions & ConnectOptions = {},
  ): Promise<Sandbox> {
    const atoll = Atoll.of(options);
    const request = { params: { id: checkpointId }, query: restoreQuery(options), ...options };
    return new Sandbox(atoll, (await atoll.call('post', '/snapshots/history/{id}/restore', request)).id);
  }

  get files(): Files {
    return new Files(this.#atoll, this.id);
  }

  get mounts(): Mounts {
    return new Mounts(this.#atoll, this.id);
  }

  /** How the sandbox is now. */
  info(options: CallOptions = {}): Promise<SandboxInfo> {
    return this.#atoll.call('get', '/sandboxes/{id}', { params: { id: this.id }, ...options });
  }

  /** Runs a program to its end, without a shell. An exit code other than 0 is a result, not an error. */
  exec(command: string, args: readonly string[] = [], options: ExecOptions = {}): Promise<ExecResult> {
    return exec(this.#atoll, this.id, command, args, options);
  }

  /** Starts a program in the background. */
  async spawn(command: string, args: readonly string[] = [], options: SpawnOptions = {}): Promise<Process> {
    const { timeoutMs, signal, ...how } = options;
    const body = { ...how, command, args: [...args] };
    const request = { params: { id: this.id }, body, timeoutMs, signal };
    const { id } = await this.#atoll.call('post', '/sandboxes/{id}/exec-stream', request);
    return this.process(id);
  }

  /** The programs that were started in the background, running or ended. */
  async processes(options: CallOptions = {}): Promise<Handle<Process, ProcessInfo>[]> {
    const request = { params: { id: this.id }, ...options };
    const { sessions } = await this.#atoll.call('get', '/sandboxes/{id}/exec-stream', request);
    return sessions.map((info) => withFields(this.process(info.id), info));
  }

  /** A background program by its id. Nothing is asked of the daemon. */
  process(id: string): Process {
    return new Process(this.#atoll, this.id, id);
  }

  /** Opens a login shell on a terminal. */
  pty(options: PtyOptions = {}): Promise<Terminal> {
    return Terminal.open(this.#atoll, this.id, options);
  }

  /** The address of a server inside the sandbox. With `withToken` a browser that has no token can open it. */
  previewUrl(port: number, path = '/', options: { readonly withToken?: boolean } = {}): string {
    return this.#atoll.link(previewPath(this.id, port, path), options);
  }

  /** Asks a server inside the sandbox. Answers whatever it answers, or the daemon in its place (404, 502, 504). */
  fetch(port: number, path = '/', init: RequestInit & CallOptions = {}): Promise<Response> {
    return this.#atoll.fetch(previewPath(this.id, port, path), init);
  }

  /** Lets a port of the guest's 127.0.0.1 reach a server on this side. Not in browsers. */
  tunnel(guestPort: number, options: TunnelOptions): Promise<Tunnel> {
    return Tunnel.open(this.#atoll, this.id, guestPort, options);
  }

  /** Ends a tunnel that another program holds. */
  async closeTunnel(tunnelId: string, options: CallOptions = {}): Promise<void> {
    const request = { params: { id: this.id }, query: { tunnel_id: tunnelId }, ...options };
    await this.#atoll.call('delete', '/sandboxes/{id}/tunnel', request);
  }

  /** Stops the sandbox and keeps its memory and disk. */
  async snapshot(options: CallOptions = {}): Promise<Snapshot> {
    const request = { params: { id: this.id }, ...options };
    const { snapshot_id } = await this.#atoll.call('post', '/sandboxes/{id}/snapshot', request);
    return Snapshot.of(this.#atoll, snapshot_id);
  }

  /** Stops the sandbox. It is kept as a snapshot if it can be, unless `keep` is false: that destroys it. */
  async stop(options: CallOptions & { readonly keep?: boolean | undefined } = {}): Promise<Stopped> {
    const { keep = true, ...call } = options;
    const query = { keep: keep ? ('true' as const) : ('false' as const) };
    const stopped = await this.#atoll.call('delete', '/sandboxes/{id}', {
      params: { id: this.id },
      query,
      ...call,
    });
    return stopped ?? { kept: false, snapshot_id: null };
  }

  /** Destroys the sandbox; one that is gone already is no error. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.stop({ keep: false });
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
  }
}

export interface ListOptions extends ConnectOptions {
  readonly tags?: Readonly<Record<string, string>> | undefined;
}

/** A sandbox that was stopped and kept: memory, disk and name. */
export class Snapshot {
  readonly id: string;
  readonly #atoll: Atoll;

  private constructor(atoll: Atoll, id: string) {
    this.#atoll = atoll;
    this.id = id;
  }

  /** @internal */
  static of(atoll: Atoll, id: string): Snapshot {
    return new Snapshot(atoll, id);
  }

  static async list(
    options: SnapshotFilter & ConnectOptions = {},
  ): Promise<Handle<Snapshot, SnapshotInfo>[]> {
    const { source_sandbox_id, parent_snapshot_id, ...rest } = options;
    const atoll = Atoll.of(rest);
    const query = { source_sandbox_id, parent_snapshot_id } as { source_sandbox_id?: string };
    const { snapshots } = await atoll.call('get', '/snapshots', { query, ...rest });
    return snapshots.map((info) => withFields(new Snapshot(atoll, info.id), info));
  }

  /** Throws NotFoundError when there is none, or it was resumed. */
  static async get(id: string, options: ConnectOptions = {}): Promise<Handle<Snapshot, SnapshotInfo>> {
    return findSnapshot(id, await Snapshot.list(options));
  }

  /** Throws ConflictError while it has a live fork. */
  static async delete(id: string, options: ConnectOptions = {}): Promise<void> {
    await Atoll.of(options).call('delete', '/snapshots/{id}', { params: { id }, ...options });
  }

  /** How the snapshot is now. */
  async info(options: CallOptions = {}): Promise<SnapshotInfo> {
    const { snapshots } = await this.#atoll.call('get', '/snapshots', options);
    return findSnapshot(this.id, snapshots);
  }

  /** As `Sandbox.resume`. */
  resume(options: ResumeOptions & CallOptions = {}): Promise<Sandbox> {
    return Sandbox.resume(this.id, { ...options, client: this.#atoll });
  }

  /** As `Sandbox.fork`. */
  fork(options: RestoreOptions & CallOptions = {}): Promise<Sandbox> {
    return Sandbox.fork(this.id, { ...options, client: this.#atoll });
  }

  /** As `Sandbox.clone`. */
  clone(body: CloneRequest, options: CallOptions = {}): Promise<(Sandbox | ApiError)[]> {
    return Sandbox.clone(this.id, body, { ...options, client: this.#atoll });
  }

  /** As `Snapshot.delete`. */
  delete(options: CallOptions = {}): Promise<void> {
    return Snapshot.delete(this.id, { ...options, client: this.#atoll });
  }
}

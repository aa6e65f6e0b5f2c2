import { pipeline, Readable } from 'node:stream';
import type { Duplex } from 'node:stream';
import { constants } from 'node:http2';
import type { ClientHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import type { z } from 'zod';
import { Deadline } from '../../lib/deadline.ts';
import { connectUnix } from '../../lib/socket-path.ts';
import { AgentLost, GuestError } from '../../ports/agent.ts';
import type {
  AcceptConnection,
  AgentHealth,
  AgentSession,
  Command,
  CommandExit,
  FileEntry,
  FileStream,
  GuestDrive,
  Identity,
  OutputSink,
  RunningCommand,
  RunningTerminal,
  TerminalSize,
} from '../../ports/agent.ts';
import { Connection } from './connection.ts';
import type { AgentResponse } from './connection.ts';
import { FrameReader, requestFrames, RESPONSE_FRAME } from './frames.ts';
import type { Calls } from './calls.ts';
import { plainConnection } from './connections.ts';
import { RunningProcess } from './processes.ts';
import { listenInGuest } from './tunnels.ts';
import { Exit, Health, Link, Listing, Refusal } from './wire.ts';

// A reconnection is a hello and its answer, a few milliseconds; a guest that needs longer is not there.
const RECONNECT_MS = 5000;

// The largest JSON answer is the listing of a directory: about 150 bytes an entry, so 400,000 entries.
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** Calls to one guest's agent, over a connection that is opened anew when it was lost. */
export class H2AgentSession implements AgentSession {
  readonly #socketPath: string;
  #connection: Connection;
  #reconnecting: Promise<Connection> | undefined;
  #closed = false;
  #asleep = false;
  readonly #calls: Calls = {
    send: (headers, send, signal) => this.#send(headers, send, signal),
    post: (path, body, signal) => this.#call(path, body, signal),
    lost: (cause) => this.#connection.lost(cause),
  };

  private constructor(socketPath: string, connection: Connection) {
    this.#socketPath = socketPath;
    this.#connection = connection;
  }

  /** Opens a session over a socket that was connected to that path. */
  static async open(socketPath: string, socket: Socket, signal: AbortSignal): Promise<H2AgentSession> {
    return new H2AgentSession(socketPath, await Connection.open(socket, signal));
  }

  async health(signal: AbortSignal): Promise<AgentHealth> {
    const response = await this.#send(
      { ':method': 'GET', ':path': '/health' },
      (stream) => stream.end(),
      signal,
    );
    return this.#answer(response, Health, signal);
  }

  async configure(identity: Identity, signal: AbortSignal): Promise<void> {
    const { env, hostname, machineId, clockUnixNs, entropy, network } = identity;
    await this.#call(
      '/configure',
      {
        env,
        hostname,
        machine_id: machineId,
        clock_unix_ns: clockUnixNs?.toString(),
        entropy_base64: entropy && Buffer.from(entropy).toString('base64'),
        network: network && {
          mac: network.mac,
          address: `${network.address}/${network.prefixLength}`,
          gateway: network.gateway,
        },
      },
      signal,
    );
  }

  mountDrives(drives: readonly GuestDrive[], signal: AbortSignal): Promise<void> {
    const wire = drives.map(({ readOnly, ...drive }) => ({ ...drive, read_only: readOnly }));
    return this.#call('/drives/mount', { drives: wire }, signal);
  }

  freezeDrives(signal: AbortSignal): Promise<void> {
    return this.#call('/drives/freeze', {}, signal);
  }

  async exec(command: Command, onOutput: OutputSink, signal: AbortSignal): Promise<CommandExit> {
    const { stdin = new Uint8Array(), timeoutMs, ...spec } = command;
    const frames = Readable.from(requestFrames({ ...spec, timeout_ms: timeoutMs }, stdin));
    const { stream } = await this.#send({ ':path': '/exec' }, (out) => sendAll(frames, out), signal);
    let exit: z.output<typeof Exit> | undefined;
    const reader = new FrameReader((type, payload) => {
      if (type === RESPONSE_FRAME.stdout) onOutput('stdout', payload);
      else if (type === RESPONSE_FRAME.stderr) onOutput('stderr', payload);
      else if (type === RESPONSE_FRAME.exit) exit = Exit.parse(JSON.parse(payload.toString()));
    });
    await this.#drain(stream, (chunk) => reader.push(chunk), signal);
    if (exit === undefined) throw new AgentLost('the command ended without an exit code');
    return { exitCode: exit.exit_code, timedOut: exit.timed_out };
  }

  start(command: Command, signal: AbortSignal): Promise<RunningCommand> {
    const { command: program, args, env, cwd, user } = command;
    const spec = { command: program, args, env, cwd, user, merge_output: true, detach: true };
    return RunningProcess.start(this.#calls, '/exec', spec, signal);
  }

  terminal(size: TerminalSize, signal: AbortSignal): Promise<RunningTerminal> {
    return RunningProcess.start(this.#calls, '/terminal', size, signal);
  }

  async connect(port: number, signal: AbortSignal): Promise<Duplex> {
    const headers = { ':method': 'CONNECT', ':authority': `127.0.0.1:${port}` };
    return plainConnection((await this.#send(headers, () => undefined, signal)).stream);
  }

  listen(
    port: number,
    onConnection: (accept: AcceptConnection) => void,
    onEnd: (reason: Error) => void,
    signal: AbortSignal,
  ): Promise<void> {
    return listenInGuest(this.#calls, port, onConnection, onEnd, signal);
  }

  async readFile(path: string, signal: AbortSignal): Promise<FileStream> {
    const body = Buffer.from(JSON.stringify({ path }));
    const { headers, stream } = await this.#send({ ':path': '/files/read' }, (out) => out.end(body), signal);
    const length = headers['content-length'];
    const size = length === undefined ? undefined : Number(length);
    return { size, body: Readable.from(this.#whole(stream, size), { objectMode: false }) };
  }

  async writeFile(
    path: string,
    content: Readable | Uint8Array,
    signal: AbortSignal,
    mode = 0o644,
  ): Promise<void> {
    const target = `/files/write?path=${encodeURIComponent(path)}&mode=${mode.toString(8)}`;
    const send = (out: ClientHttp2Stream) => {
      if (content instanceof Readable) sendAll(content, out);
      else out.end(content);
    };
    (await this.#send({ ':path': target }, send, signal)).stream.resume();
  }

  chmod(path: string, mode: number, signal: AbortSignal): Promise<void> {
    return this.#call('/files/chmod', { path, mode }, signal);
  }

  chown(path: string, uid: number, gid: number, signal: AbortSignal): Promise<void> {
    return this.#call('/files/chown', { path, uid, gid }, signal);
  }

  mkdir(path: string, parents: boolean, signal: AbortSignal): Promise<void> {
    return this.#call('/files/mkdir', { path, parents }, signal);
  }

  rename(from: string, to: string, signal: AbortSignal): Promise<void> {
    return this.#call('/files/rename', { from, to }, signal);
  }

  copy(from: string, to: string, signal: AbortSignal): Promise<void> {
    return this.#call('/files/copy', { from, to }, signal);
  }

  symlink(target: string, linkPath: string, signal: AbortSignal): Promise<void> {
    return this.#call('/files/symlink', { target, link_path: linkPath }, signal);
  }

  async readlink(path: string, signal: AbortSignal): Promise<string> {
    return (await this.#ask('/files/readlink', { path }, Link, signal)).target;
  }

  truncate(path: string, size: number, signal: AbortSignal): Promise<void> {
    return this.#call('/files/truncate', { path, size }, signal);
  }

  async listDir(path: string, signal: AbortSignal): Promise<readonly FileEntry[]> {
    return (await this.#ask('/files/list-dir', { path }, Listing, signal)).entries;
  }

  async quiesce(signal: AbortSignal): Promise<void> {
    this.#asleep = true;
    try {
      const connection = await this.#connected(signal);
      const { stream } = await connection.request({ ':path': '/quiesce' }, (out) => out.end(), signal);
      stream.resume();
      if (connection.usable) await connection.hangUp('the sandbox is being snapshotted');
    } catch (error) {
      this.#asleep = false;
      throw error;
    }
  }

  wake(): void {
    this.#asleep = false;
  }

  close(): void {
    this.#closed = true;
    this.#connection.close('the sandbox was stopped');
  }

  async #call(path: string, body: object, signal: AbortSignal): Promise<void> {
    const { stream } = await this.#post(path, body, signal);
    stream.resume();
  }

  async #ask<T extends z.ZodType>(
    path: string,
    body: object,
    shape: T,
    signal: AbortSignal,
  ): Promise<z.output<T>> {
    return this.#answer(await this.#post(path, body, signal), shape, signal);
  }

  #post(path: string, body: object, signal: AbortSignal): Promise<AgentResponse> {
    const bytes = Buffer.from(JSON.stringify(body));
    return this.#send({ ':path': path }, (out) => out.end(bytes), signal);
  }

  /** Sends a request over a living connection and turns a refusal into a GuestError. */
  async #send(
    headers: Record<string, string>,
    send: (stream: ClientHttp2Stream) => void,
    signal: AbortSignal,
  ): Promise<AgentResponse> {
    const connection = await this.#live(signal);
    const response = await connection.request(headers, send, signal);
    if (response.status < 400) return response;
    const { errno, message } = await this.#answer(response, Refusal, signal);
    throw new GuestError(errno, message);
  }

  async #answer<T extends z.ZodType>(
    response: AgentResponse,
    shape: T,
    signal: AbortSignal,
  ): Promise<z.output<T>> {
    const chunks: Buffer[] = [];
    let size = 0;
    await this.#drain(
      response.stream,
      (chunk) => {
        size += chunk.length;
        if (size > MAX_ANSWER_BYTES) throw new Error(`an answer of more than ${MAX_ANSWER_BYTES} bytes`);
        chunks.push(chunk);
      },
      signal,
    );
    try {
      return shape.parse(JSON.parse(Buffer.concat(chunks).toString()));
    } catch (error) {
      throw new AgentLost('its agent gave an answer that makes no sense', { cause: error });
    }
  }

  /** Reads a response to its end. Whatever goes wrong on the way, but the caller's own signal, is a lost agent. */
  async #drain(stream: ClientHttp2Stream, take: (chunk: Buffer) => void, signal: AbortSignal): Promise<void> {
    try {
      for await (const chunk of stream) take(chunk as Buffer);
    } catch (error) {
      stream.destroy();
      signal.throwIfAborted();
      throw this.#connection.lost(error);
    }
  }

  /** The bytes of a response, and an error where they stop early: Node ends a stream that was cut off like one that is done. */
  async *#whole(stream: ClientHttp2Stream, size: number | undefined): AsyncGenerator<Buffer> {
    let seen = 0;
    try {
      for await (const chunk of stream) {
        seen += (chunk as Buffer).length;
        yield chunk as Buffer;
      }
    } catch (error) {
      throw this.#connection.lost(error);
    }
    const cutOff = stream.rstCode !== constants.NGHTTP2_NO_ERROR || (size !== undefined && seen !== size);
    if (cutOff) throw this.#connection.lost(undefined);
  }

  async #live(signal: AbortSignal): Promise<Connection> {
    if (this.#asleep) throw new AgentLost('the sandbox is being snapshotted');
    return this.#connected(signal);
  }

  /** The connection, opened anew when it was lost; one attempt at a time, shared by the calls that wait for it. */
  async #connected(signal: AbortSignal): Promise<Connection> {
    signal.throwIfAborted();
    if (this.#connection.usable) return this.#connection;
    if (this.#closed) throw this.#connection.lost(undefined);
    this.#reconnecting ??= this.#reconnect().finally(() => (this.#reconnecting = undefined));
    return this.#reconnecting;
  }

  async #reconnect(): Promise<Connection> {
    using deadline = Deadline.in(RECONNECT_MS, 'a new connection to the agent');
    try {
      const socket = await connectUnix(this.#socketPath, deadline.signal);
      this.#connection = await Connection.open(socket, deadline.signal);
    } catch (error) {
      throw this.#connection.lost(error);
    }
    if (this.#closed) this.close();
    return this.#connection;
  }
}

/** Sends a body through; a failure of either side ends the stream, and whoever waits for the answer sees it. */
function sendAll(source: Readable, stream: ClientHttp2Stream): void {
  pipeline(source, stream, () => undefined);
}

import type { ClientHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import type { Duplex } from 'node:stream';
import type { z } from 'zod';
import { Deadline } from '../../lib/deadline.ts';
import { AgentLost } from '../../ports/agent.ts';
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
import { Calls, sendAll } from './calls.ts';
import { FrameReader, requestFrames, RESPONSE_FRAME, specFrame } from './frames.ts';
import { plainConnection } from './connections.ts';
import { RunningProcess } from './processes.ts';
import { listenInGuest } from './tunnels.ts';
import { wholeBody } from './whole-body.ts';
import { Exit, Health, identityRequest, Link, Listing } from './wire.ts';

// What the time of a command is exceeded by until its agent's word of that is here, on a host that has more to do.
const OVERTIME_MS = 10_000;

// An agent answers within a millisecond; one that says nothing is not to hold its sandbox up for as long as a guest may take to write out
// what it holds back.
const HEALTH_MS = 15_000;

// setTimeout's own ceiling, a signed 32-bit count.
const MAX_TIMER_MS = 2_147_483_647;

// The listing of a directory: about 150 bytes an entry, so 100,000 entries.
const MAX_LISTING_BYTES = 16 * 1024 * 1024;

/** What one guest's agent can be asked to do, each as one of its routes (guest/agent/README.md). */
export class H2AgentSession implements AgentSession {
  readonly #calls: Calls;

  /** @param epoch one of the socket at that path, over which nothing was said yet. */
  constructor(socketPath: string, epoch: Socket) {
    this.#calls = new Calls(socketPath, epoch);
  }

  async health(signal: AbortSignal): Promise<AgentHealth> {
    const response = await this.#calls.send(
      { ':method': 'GET', ':path': '/health' },
      (stream) => stream.end(),
      signal,
    );
    return this.#calls.answer(response, Health, signal);
  }

  async configure(identity: Identity, signal: AbortSignal): Promise<void> {
    await this.#calls.call('/configure', identityRequest(identity), signal);
  }

  mountDrives(drives: readonly GuestDrive[], signal: AbortSignal): Promise<void> {
    const wire = drives.map(({ readOnly, ...drive }) => ({ ...drive, read_only: readOnly }));
    return this.#calls.call('/drives/mount', { drives: wire }, signal);
  }

  freezeDrives(signal: AbortSignal): Promise<void> {
    return this.#calls.call('/drives/freeze', {}, signal);
  }

  async exec(command: Command, onOutput: OutputSink, signal: AbortSignal): Promise<CommandExit> {
    if (command.timeoutMs === undefined) return this.#exec(command, onOutput, signal);
    // The agent ends the command in time, if it is what it should be.
    const ms = Math.min(command.timeoutMs + OVERTIME_MS, MAX_TIMER_MS);
    using deadline = Deadline.in(ms, 'the command', signal);
    try {
      return await this.#exec(command, onOutput, deadline.signal);
    } catch (error) {
      const isLate = deadline.signal.aborted && !signal.aborted;
      throw isLate ? new AgentLost('its agent did not end a command in time', { cause: error }) : error;
    }
  }

  async #exec(command: Command, onOutput: OutputSink, signal: AbortSignal): Promise<CommandExit> {
    const { stdin, timeoutMs, ...rest } = command;
    const spec = { ...rest, timeout_ms: timeoutMs };
    const send = (out: ClientHttp2Stream) => {
      // In one message with the headers: each takes the guest a fraction of a millisecond, and more under emulation.
      if (stdin === undefined) out.end(specFrame(spec));
      else sendAll(Readable.from(requestFrames(spec, stdin)), out);
    };
    const { stream } = await this.#calls.send({ ':path': '/exec' }, send, signal);
    let exit: z.output<typeof Exit> | undefined;
    const reader = new FrameReader((type, payload) => {
      if (type === RESPONSE_FRAME.stdout) onOutput('stdout', payload);
      else if (type === RESPONSE_FRAME.stderr) onOutput('stderr', payload);
      else if (type === RESPONSE_FRAME.exit) exit = Exit.parse(JSON.parse(payload.toString()));
    });
    await this.#calls.drain(stream, (chunk) => reader.push(chunk), signal);
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
    return plainConnection((await this.#calls.send(headers, () => undefined, signal)).stream);
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
    const { headers, stream } = await this.#calls.send(
      { ':path': '/files/read' },
      (out) => out.end(body),
      signal,
    );
    const length = headers['content-length'];
    const size = length === undefined ? undefined : Number(length);
    if (size !== undefined && !Number.isSafeInteger(size)) throw this.#calls.lost(undefined);
    return { size, body: wholeBody(this.#calls, stream, size) };
  }

  async writeFile(
    path: string,
    content: Readable | Uint8Array,
    signal: AbortSignal,
    mode = 0o644,
  ): Promise<void> {
    const target = `/files/write?path=${encodeURIComponent(path)}&mode=${mode.toString(8)}`;
    await this.#calls.upload(target, content, signal);
  }

  async readArchive(path: string, signal: AbortSignal): Promise<FileStream> {
    const { stream } = await this.#calls.post('/files/pack', { path }, signal);
    return { size: undefined, body: wholeBody(this.#calls, stream, undefined) };
  }

  writeArchive(path: string, archive: Readable, signal: AbortSignal): Promise<void> {
    return this.#calls.upload(`/files/unpack?path=${encodeURIComponent(path)}`, archive, signal);
  }

  chmod(path: string, mode: number, signal: AbortSignal): Promise<void> {
    return this.#calls.call('/files/chmod', { path, mode }, signal);
  }

  chown(path: string, uid: number, gid: number, signal: AbortSignal): Promise<void> {
    return this.#calls.call('/files/chown', { path, uid, gid }, signal);
  }

  mkdir(path: string, parents: boolean, signal: AbortSignal): Promise<void> {
    return this.#calls.call('/files/mkdir', { path, parents }, signal);
  }

  rename(from: string, to: string, signal: AbortSignal): Promise<void> {
    return this.#calls.call('/files/rename', { from, to }, signal);
  }

  copy(from: string, to: string, signal: AbortSignal): Promise<void> {
    return this.#calls.call('/files/copy', { from, to }, signal);
  }

  symlink(target: string, linkPath: string, signal: AbortSignal): Promise<void> {
    return this.#calls.call('/files/symlink', { target, link_path: linkPath }, signal);
  }

  async readlink(path: string, signal: AbortSignal): Promise<string> {
    return (await this.#calls.ask('/files/readlink', { path }, Link, signal)).target;
  }

  truncate(path: string, size: number, signal: AbortSignal): Promise<void> {
    return this.#calls.call('/files/truncate', { path, size }, signal);
  }

  async listDir(path: string, signal: AbortSignal): Promise<readonly FileEntry[]> {
    return (await this.#calls.ask('/files/list-dir', { path }, Listing, signal, MAX_LISTING_BYTES)).entries;
  }

  async quiesce(signal: AbortSignal): Promise<AgentHealth> {
    using soon = Deadline.in(HEALTH_MS, 'the answer of its agent', signal);
    return await this.#calls.quiesce(() => this.health(soon.signal), signal);
  }

  wake(): void {
    this.#calls.wake();
  }

  close(): void {
    this.#calls.close();
  }
}

import type { Duplex, Readable, Writable } from 'node:stream';
import type { Deadline } from '../lib/deadline.ts';

/** Who a guest is on its network. The gateway is its default route and its name server. */
export interface GuestNetwork {
  readonly mac: string;
  /** IPv4, with the length of its network's prefix. */
  readonly address: string;
  readonly prefixLength: number;
  readonly gateway: string;
}

/** What a guest is told it is. Absent fields stay as they are. */
export interface Identity {
  /** Environment of every command; replaces the earlier one. Lives in the guest's memory only. */
  readonly env?: Readonly<Record<string, string>>;
  readonly hostname?: string;
  /** 32 hexadecimal digits (machine-id(5)). */
  readonly machineId?: string;
  /** Wall clock, nanoseconds since 1970. */
  readonly clockUnixNs?: bigint;
  /** Bytes for the kernel's entropy pool. */
  readonly entropy?: Uint8Array;
  readonly network?: GuestNetwork;
}

/** What tells a guest from its clones. */
export type Names = Pick<Identity, 'hostname' | 'machineId' | 'network'>;

/** A disk that outlives the guest. */
export interface GuestDrive {
  /** Names its mount point, `/mnt/drives/<id>`. */
  readonly id: string;
  /** What tells it from the other disks. */
  readonly serial: string;
  /** Names its device, `/dev/disk/by-label/<label>`. */
  readonly label: string;
  readonly readOnly: boolean;
}

export interface AgentHealth {
  /** Generation of the agent's protocol: a message that a newer one brings is not sent to an older one. */
  readonly generation: number;
  readonly version: string;
  readonly kernel: string;
}

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  readonly user?: string | undefined;
  readonly timeoutMs?: number | undefined;
  readonly stdin?: Uint8Array | undefined;
}

/** How a command ended. */
export interface CommandExit {
  readonly exitCode: number;
  readonly timedOut: boolean;
}

/** A command that runs on beside the call that started it. */
export interface RunningCommand {
  /** What it writes, both outputs in the order in which it did. Whoever does not read stops the command's writes. */
  readonly output: Readable;
  /** What it reads; ending it is the end of file. */
  readonly input: Writable;
  /** Settles after the last output; rejects with AgentLost when the guest cannot tell. May be left alone. */
  readonly exited: Promise<CommandExit>;
  /** Signals its process group. Name of the signal without SIG. A GuestError of ESRCH: it has ended. */
  signal(name: string, signal: AbortSignal): Promise<void>;
}

/** Size in characters. */
export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

/** A login shell on a terminal. */
export interface RunningTerminal extends RunningCommand {
  resize(size: TerminalSize, signal: AbortSignal): Promise<void>;
}

/** Takes a connection that a program in the guest has made. Each direction ends by itself; destroying it resets it. */
export type AcceptConnection = () => Promise<Duplex>;

/** Gets a command's output as it comes. */
export type OutputSink = (stream: 'stdout' | 'stderr', chunk: Buffer) => void;

export interface FileStream {
  /** Length in bytes where the guest knows it beforehand. */
  readonly size: number | undefined;
  readonly body: Readable;
}

export type FileType = 'file' | 'dir' | 'symlink' | 'fifo' | 'socket' | 'block' | 'char';

export interface FileEntry {
  readonly name: string;
  readonly type: FileType;
  readonly is_dir: boolean;
  readonly is_symlink: boolean;
  readonly size: number;
  readonly mode: number;
  readonly mtime_unix: number;
}

/**
 * The agent inside one guest. Every method rejects with a GuestError when the guest refuses, with AgentOutdated when its agent is
 * too old to know of it, with AgentLost when the guest cannot be reached or stops answering, and with the signal's reason when that
 * aborts. Paths are absolute or relative to `/`.
 */
export interface AgentSession {
  health(signal: AbortSignal): Promise<AgentHealth>;
  configure(identity: Identity, signal: AbortSignal): Promise<void>;
  /** Mounts drives. Needs an agent of generation 4. */
  mountDrives(drives: readonly GuestDrive[], signal: AbortSignal): Promise<void>;
  /**
   * Writes out what drives hold back and leaves their file systems in order; nobody can write to them any more. To be done before
   * the machine is ended. Needs an agent of generation 4.
   */
  freezeDrives(signal: AbortSignal): Promise<void>;
  /** Runs a command to its end. Aborting kills it with all its process group. */
  exec(command: Command, onOutput: OutputSink, signal: AbortSignal): Promise<CommandExit>;
  /** Starts a command that outlives the connection to the agent; aborting lets go of it, and does not end it. */
  start(command: Command, signal: AbortSignal): Promise<RunningCommand>;
  /** Starts the login shell of the guest's root. Aborting hangs up: everything on the terminal ends. */
  terminal(size: TerminalSize, signal: AbortSignal): Promise<RunningTerminal>;
  /** Connects to a port of the guest, whichever of its addresses it listens on. A GuestError of ECONNREFUSED: nobody does. */
  connect(port: number, signal: AbortSignal): Promise<Duplex>;
  /**
   * Listens on a port of the guest's loopback until the signal aborts; answers once it does. A GuestError of EADDRINUSE: a
   * program of the guest has the port. `onEnd` is called when the guest stops listening by itself.
   */
  listen(
    port: number,
    onConnection: (accept: AcceptConnection) => void,
    onEnd: (reason: Error) => void,
    signal: AbortSignal,
  ): Promise<void>;
  readFile(path: string, signal: AbortSignal): Promise<FileStream>;
  /** Creates, with this mode, or replaces the content; the parent directory must exist. */
  writeFile(path: string, content: Readable | Uint8Array, signal: AbortSignal, mode?: number): Promise<void>;
  chmod(path: string, mode: number, signal: AbortSignal): Promise<void>;
  chown(path: string, uid: number, gid: number, signal: AbortSignal): Promise<void>;
  mkdir(path: string, parents: boolean, signal: AbortSignal): Promise<void>;
  rename(from: string, to: string, signal: AbortSignal): Promise<void>;
  copy(from: string, to: string, signal: AbortSignal): Promise<void>;
  symlink(target: string, linkPath: string, signal: AbortSignal): Promise<void>;
  readlink(path: string, signal: AbortSignal): Promise<string>;
  truncate(path: string, size: number, signal: AbortSignal): Promise<void>;
  listDir(path: string, signal: AbortSignal): Promise<readonly FileEntry[]>;
  /**
   * A tar archive of what a directory holds, or of a single file. It ends with an error where something cannot be read to its end.
   * Needs an agent of generation 5.
   */
  readArchive(path: string, signal: AbortSignal): Promise<FileStream>;
  /** Unpacks a tar archive into a directory, which is made if it is absent. Needs an agent of generation 5. */
  writeArchive(path: string, archive: Readable, signal: AbortSignal): Promise<void>;
  /**
   * Has the guest write out what it holds back, and hangs up: nothing is on the way in either direction then, and the machine
   * can be saved. Calls in flight reject with AgentLost, and so do later ones until `wake`; the commands they ran go on. Answers what
   * the agent is, which it has to say soon, however long the writing takes. Needs an agent of generation 2.
   */
  quiesce(signal: AbortSignal): Promise<AgentHealth>;
  /** Takes calls again, for a machine that goes on after all. */
  wake(): void;
  close(): void;
}

/** A line to an agent on which nothing was said yet. */
export interface AgentLine {
  /** Opens a session; answers when the agent has. Rejects at the deadline. */
  open(deadline: Deadline): Promise<AgentSession>;
  /**
   * Opens a session with a guest that begins to run: before it answers its clock is set, its kernel has randomness that no other has,
   * and it is who the news say, if there are any. Needs an agent of generation 6, and 7 for news.
   */
  awaken(news: Names | undefined, deadline: Deadline): Promise<AgentSession>;
  /** Hangs up, unless a session took the line over. */
  close(): void;
}

/** Reaches guest agents. */
export interface GuestAgent {
  /** Connects to the machine's agent socket and says nothing yet: its guest may not be there, or its state still to be loaded. */
  attach(socket: string, deadline: Deadline): Promise<AgentLine>;
}

/** The guest's kernel or agent refused an operation: the request was at fault, not the machine. */
export class GuestError extends Error {
  override readonly name = 'GuestError';
  /** Name of the errno, as errno(3) spells it. */
  readonly errno: string;
  constructor(errno: string, message: string) {
    super(message);
    this.errno = errno;
  }
}

/** The agent is older than what was asked of it: it came with the snapshot that the machine was restored from. */
export class AgentOutdated extends Error {
  override readonly name = 'AgentOutdated';
}

/** The agent cannot be reached, or does not answer any more. */
export class AgentLost extends Error {
  override readonly name = 'AgentLost';
}

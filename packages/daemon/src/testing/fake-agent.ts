import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Deadline } from '../lib/deadline.ts';
import { FakeProcess } from './fake-process.ts';
import { AgentLost, GuestError } from '../ports/agent.ts';
import type {
  AgentHealth,
  AgentLine,
  AgentSession,
  Command,
  CommandExit,
  FileEntry,
  FileStream,
  GuestDrive,
  GuestAgent,
  Identity,
  OutputSink,
} from '../ports/agent.ts';

/** Guests without a machine; `agent.contract.ts` holds it to what the real one does. */
export class FakeAgent implements GuestAgent {
  readonly sessions = new Map<string, FakeSession>();

  connect(socket: string, deadline: Deadline): Promise<AgentSession> {
    deadline.signal.throwIfAborted();
    const session = new FakeSession();
    this.sessions.set(socket, session);
    return Promise.resolve(session);
  }

  attach(socket: string): Promise<AgentLine> {
    return Promise.resolve({
      open: (deadline: Deadline) => this.connect(socket, deadline),
      close: () => undefined,
    });
  }
}

/** A serial number that no disk has. */
const NO_DISK = 'no-such-disk';

interface Node {
  readonly type: 'file' | 'dir' | 'symlink';
  content: Buffer;
  mode: number;
}

const MESSAGES: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EEXIST: 'file exists',
  EISDIR: 'is a directory',
  ENOTDIR: 'not a directory',
  EINVAL: 'invalid argument',
  ENODEV: 'no such device',
};

/** A file system in a map of absolute paths, and the commands true, false, echo, cat, env and sleep. */
export class FakeSession implements AgentSession {
  identity: Identity = {};
  drives: readonly GuestDrive[] = [];
  frozen = false;
  #nodes = new Map<string, Node>([
    ['/', dir()],
    ['/tmp', dir()],
  ]);
  readonly #lost = new AbortController();
  #asleep = false;
  readonly #ports = new Set<number>();

  /** Goes silent, as the agent of a machine that ended. */
  lose(): void {
    this.#lost.abort(new AgentLost('the connection to its agent ended'));
  }

  close(): void {
    this.lose();
  }

  quiesce(): Promise<void> {
    return this.#do(() => {
      this.#asleep = true;
    });
  }

  wake(): void {
    this.#asleep = false;
  }

  health(): Promise<AgentHealth> {
    return this.#do(() => ({ generation: 4, version: '0.1.0', kernel: '6.12.0' }));
  }

  configure(identity: Identity): Promise<void> {
    return this.#do(() => {
      this.identity = { ...this.identity, ...identity };
    });
  }

  mountDrives(drives: readonly GuestDrive[]): Promise<void> {
    return this.#do(() => {
      if (drives.some(({ serial }) => serial === NO_DISK)) throw refusal('ENODEV', 'mount', NO_DISK);
      this.drives = drives;
    });
  }

  freezeDrives(): Promise<void> {
    return this.#do(() => {
      this.frozen = true;
    });
  }

  async exec(command: Command, onOutput: OutputSink, signal: AbortSignal): Promise<CommandExit> {
    this.#lost.signal.throwIfAborted();
    const exit = (exitCode: number): CommandExit => ({ exitCode, timedOut: false });
    const out = (text: string | Uint8Array) => onOutput('stdout', Buffer.from(text));
    switch (command.command) {
      case 'true':
        return exit(0);
      case 'false':
        return exit(1);
      case 'echo':
        out(`${command.args.join(' ')}\n`);
        return exit(0);
      case 'cat':
        out(command.stdin ?? '');
        return exit(0);
      case 'env':
        for (const [name, value] of Object.entries({ ...this.identity.env, ...command.env }))
          out(`${name}=${value}\n`);
        return exit(0);
      case 'sleep':
        return this.#sleep(Number(command.args[0]) * 1000, command.timeoutMs, signal);
      default:
        onOutput('stderr', Buffer.from(`${command.command}: command not found\n`));
        return exit(127);
    }
  }

  start(command: Command, signal: AbortSignal): Promise<FakeProcess> {
    return this.#do(() => FakeProcess.of(command, AbortSignal.any([signal, this.#lost.signal])));
  }

  terminal(_size: object, signal: AbortSignal): Promise<FakeProcess> {
    return this.#do(() => FakeProcess.shell(AbortSignal.any([signal, this.#lost.signal])));
  }

  connect(port: number): Promise<never> {
    return this.#do(() => {
      throw new GuestError('ECONNREFUSED', `connect ${port}: connection refused`);
    });
  }

  listen(port: number, _onConnection: unknown, _onEnd: unknown, signal: AbortSignal): Promise<void> {
    return this.#do(() => {
      if (this.#ports.has(port)) throw new GuestError('EADDRINUSE', `listen ${port}: address already in use`);
      this.#ports.add(port);
      signal.addEventListener('abort', () => this.#ports.delete(port), { once: true });
    });
  }

  async #sleep(ms: number, timeoutMs: number | undefined, signal: AbortSignal): Promise<CommandExit> {
    try {
      await sleep(Math.min(ms, timeoutMs ?? ms), undefined, {
        signal: AbortSignal.any([signal, this.#lost.signal]),
      });
    } catch (error) {
      signal.throwIfAborted();
      throw (error as Error).cause;
    }
    const timedOut = timeoutMs !== undefined && timeoutMs < ms;
    return { exitCode: timedOut ? 124 : 0, timedOut };
  }

  readFile(path: string): Promise<FileStream> {
    return this.#do(() => {
      const { content } = this.#file('open', path);
      return { size: content.length, body: Readable.from([content], { objectMode: false }) };
    });
  }

  async writeFile(
    path: string,
    content: Readable | Uint8Array,
    _signal: AbortSignal,
    mode = 0o644,
  ): Promise<void> {
    const bytes = content instanceof Readable ? await buffer(content) : Buffer.from(content);
    await this.#do(() => {
      const at = this.#parented('open', path);
      if (this.#nodes.get(at)?.type === 'dir') throw refusal('EISDIR', 'open', path);
      this.#nodes.set(at, { type: 'file', content: bytes, mode: this.#nodes.get(at)?.mode ?? mode });
    });
  }

  chmod(path: string, mode: number): Promise<void> {
    return this.#do(() => {
      this.#node('chmod', path).mode = mode;
    });
  }

  chown(path: string): Promise<void> {
    return this.#do(() => {
      this.#node('chown', path);
    });
  }

  mkdir(path: string, parents: boolean): Promise<void> {
    return this.#do(() => {
      if (parents) {
        const parts = absolute(path).split('/').filter(Boolean);
        parts.forEach((_, index) => {
          const at = `/${parts.slice(0, index + 1).join('/')}`;
          if (!this.#nodes.has(at)) this.#nodes.set(at, dir());
        });
        return;
      }
      const at = this.#parented('mkdir', path);
      if (this.#nodes.has(at)) throw refusal('EEXIST', 'mkdir', path);
      this.#nodes.set(at, dir());
    });
  }

  rename(from: string, to: string): Promise<void> {
    return this.#do(() => {
      const node = this.#node('rename', from);
      this.#nodes.set(this.#parented('rename', to), node);
      this.#nodes.delete(absolute(from));
    });
  }

  copy(from: string, to: string): Promise<void> {
    return this.#do(() => {
      const node = this.#node('copy', from);
      this.#nodes.set(this.#parented('copy', to), { ...node });
    });
  }

  symlink(target: string, linkPath: string): Promise<void> {
    return this.#do(() => {
      const at = this.#parented('symlink', linkPath);
      if (this.#nodes.has(at)) throw refusal('EEXIST', 'symlink', linkPath);
      this.#nodes.set(at, { type: 'symlink', content: Buffer.from(target), mode: 0o777 });
    });
  }

  readlink(path: string): Promise<string> {
    return this.#do(() => {
      const node = this.#nodes.get(absolute(path));
      if (node === undefined) throw refusal('ENOENT', 'readlink', path);
      if (node.type !== 'symlink') throw refusal('EINVAL', 'readlink', path);
      return node.content.toString();
    });
  }

  truncate(path: string, size: number): Promise<void> {
    return this.#do(() => {
      const node = this.#file('truncate', path);
      node.content = Buffer.concat([
        node.content.subarray(0, size),
        Buffer.alloc(Math.max(0, size - node.content.length)),
      ]);
    });
  }

  listDir(path: string): Promise<readonly FileEntry[]> {
    return this.#do(() => {
      if (this.#node('open', path).type !== 'dir') throw refusal('ENOTDIR', 'open', path);
      const at = absolute(path);
      return [...this.#nodes]
        .filter(([each]) => each !== '/' && posix.dirname(each) === at)
        .map(([each, node]) => entryOf(posix.basename(each), node))
        .sort((a, b) => (a.name < b.name ? -1 : 1));
    });
  }

  #do<T>(work: () => T): Promise<T> {
    return Promise.resolve().then(() => {
      this.#lost.signal.throwIfAborted();
      if (this.#asleep) throw new AgentLost('the sandbox is being snapshotted');
      return work();
    });
  }

  /** The node of a path, its last link followed. */
  #node(action: string, path: string): Node {
    const node = this.#nodes.get(absolute(path));
    if (node === undefined) throw refusal('ENOENT', action, path);
    return node.type === 'symlink' ? this.#node(action, node.content.toString()) : node;
  }

  #file(action: string, path: string): Node {
    const node = this.#node(action, path);
    if (node.type === 'dir') throw refusal('EISDIR', action, path);
    return node;
  }

  #parented(action: string, path: string): string {
    const at = absolute(path);
    const parent = this.#nodes.get(posix.dirname(at));
    if (parent === undefined) throw refusal('ENOENT', action, path);
    if (parent.type !== 'dir') throw refusal('ENOTDIR', action, path);
    return at;
  }
}

function dir(): Node {
  return { type: 'dir', content: Buffer.alloc(0), mode: 0o755 };
}

function absolute(path: string): string {
  return posix.resolve('/', path);
}

function refusal(errno: string, action: string, path: string): GuestError {
  return new GuestError(errno, `${action} ${path}: ${MESSAGES[errno] ?? errno}`);
}

function entryOf(name: string, { type, content, mode }: Node): FileEntry {
  const size = type === 'dir' ? 4096 : content.length;
  return { name, type, is_dir: type === 'dir', is_symlink: type === 'symlink', size, mode, mtime_unix: 0 };
}

import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Deadline } from '../lib/deadline.ts';
import { FakeFiles, refusal } from './fake-files.ts';
import { FakeProcess } from './fake-process.ts';
import { AgentLost, GuestError } from '../ports/agent.ts';
import type {
  AgentHealth,
  AgentLine,
  AgentSession,
  Command,
  CommandExit,
  GuestDrive,
  GuestAgent,
  Identity,
  Names,
  OutputSink,
} from '../ports/agent.ts';

/** Guests without a machine; `agent.contract.ts` holds it to what the real one does. */
export class FakeAgent implements GuestAgent {
  readonly sessions = new Map<string, FakeSession>();

  attach(socket: string, deadline: Deadline): Promise<AgentLine> {
    deadline.signal.throwIfAborted();
    const open = ({ signal }: Deadline) => {
      signal.throwIfAborted();
      const session = new FakeSession();
      this.sessions.set(socket, session);
      return Promise.resolve(session);
    };
    return Promise.resolve({
      open,
      awaken: async (news: Names | undefined, deadline: Deadline) => {
        const session = await open(deadline);
        const woken = { ...news, clockUnixNs: BigInt(Date.now()) * 1_000_000n, entropy: randomBytes(32) };
        await session.configure(woken);
        return session;
      },
      close: () => undefined,
    });
  }
}

/** A serial number that no disk has. */
const HEALTH: AgentHealth = { generation: 7, version: '0.1.0', kernel: '6.12.0' };

const NO_DISK = 'no-such-disk';

/** A file system in memory, and the commands true, false, echo, cat, env and sleep. */
export class FakeSession extends FakeFiles implements AgentSession {
  identity: Identity = {};
  drives: readonly GuestDrive[] = [];
  frozen = false;
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

  quiesce(): Promise<AgentHealth> {
    return this.answer(() => {
      this.#asleep = true;
      return HEALTH;
    });
  }

  wake(): void {
    this.#asleep = false;
  }

  health(): Promise<AgentHealth> {
    return this.answer(() => HEALTH);
  }

  configure(identity: Identity): Promise<void> {
    return this.answer(() => {
      this.identity = { ...this.identity, ...identity };
    });
  }

  mountDrives(drives: readonly GuestDrive[]): Promise<void> {
    return this.answer(() => {
      if (drives.some(({ serial }) => serial === NO_DISK)) throw refusal('ENODEV', 'mount', NO_DISK);
      this.drives = drives;
    });
  }

  freezeDrives(): Promise<void> {
    return this.answer(() => {
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
    return this.answer(() => FakeProcess.of(command, AbortSignal.any([signal, this.#lost.signal])));
  }

  terminal(_size: object, signal: AbortSignal): Promise<FakeProcess> {
    return this.answer(() => FakeProcess.shell(AbortSignal.any([signal, this.#lost.signal])));
  }

  connect(port: number): Promise<never> {
    return this.answer(() => {
      throw new GuestError('ECONNREFUSED', `connect ${port}: connection refused`);
    });
  }

  listen(port: number, _onConnection: unknown, _onEnd: unknown, signal: AbortSignal): Promise<void> {
    return this.answer(() => {
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

  protected override answer<T>(work: () => T): Promise<T> {
    return Promise.resolve().then(() => {
      this.#lost.signal.throwIfAborted();
      if (this.#asleep) throw new AgentLost('the sandbox is being snapshotted');
      return work();
    });
  }
}

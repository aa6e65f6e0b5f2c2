import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { Duplex } from 'node:stream';
import { assertPiped } from './pipes.ts';

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface SpawnOptions {
  readonly cwd: string;
  /** Gets what the process writes to stdout and stderr. */
  readonly onOutput: (chunk: Buffer) => void;
  /** It starts without no-new-privileges, since it has to run newuidmap, and confines itself further than this would. */
  readonly confinesItself?: boolean;
  /** Gives it one end of a socket pair as descriptor 3; `channel` is the other. */
  readonly channel?: boolean;
}

/** A long-lived process of ours. `exited` settles once, after its output was read to the end; it never rejects. */
export class Child {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  readonly channel: Duplex | undefined;
  #exit: Exit | undefined;
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess, pid: number, exited: Promise<Exit>) {
    this.#process = process;
    this.pid = pid;
    this.channel = process.stdio[3] as Duplex | undefined;
    this.exited = exited.then((exit) => (this.#exit = exit));
  }

  /**
   * Starts a program in a session of its own, so that a Ctrl-C for the daemon does not reach it, under setpriv (util-linux),
   * so that it dies with the daemon, gains no privilege and holds no capability. Rejects when it cannot be started.
   */
  static async spawn(file: string, args: readonly string[], options: SpawnOptions): Promise<Child> {
    const child = spawn('setpriv', [...confinement(options.confinesItself), '--', file, ...args], {
      cwd: options.cwd,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', ...(options.channel ? (['pipe'] as const) : [])],
      // Nothing of the daemon's environment, least of all its token, is for a child.
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
    });
    assertPiped(file, child);
    const exited = new Promise<Exit>((resolve) => {
      child.once('close', (code, signal) => resolve({ code, signal }));
    });
    child.stdout?.on('data', options.onOutput);
    child.stderr?.on('data', options.onOutput);
    child.stdio[3]?.on('error', () => undefined); // Whoever uses it sees it close.
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.on('error', () => undefined); // A kill that comes too late: `exited` says all there is to say.
    if (child.pid === undefined) throw new Error(`${file} has no process id`);
    return new Child(child, child.pid, exited);
  }

  get exit(): Exit | undefined {
    return this.#exit;
  }

  /** Ends the process at once and waits until it is gone. */
  async kill(): Promise<void> {
    if (this.#exit === undefined) this.#process.kill('SIGKILL');
    await this.exited;
  }
}

function confinement(confinesItself = false): string[] {
  const dropped = ['--pdeathsig', 'KILL', '--inh-caps=-all', '--ambient-caps=-all'];
  if (confinesItself) return dropped;
  const options = [...dropped, '--no-new-privs'];
  // Only root regains capabilities across exec, and only root may empty the bounding set that this goes by.
  return process.getuid?.() === 0 ? [...options, '--bounding-set=-all'] : options;
}

/** The way a process ended, as words for a message. */
export function describeExit({ code, signal }: Exit): string {
  return signal === null ? `exit code ${code}` : `signal ${signal}`;
}

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { patient } from '../../packages/daemon/src/testing/patience.ts';
import { Client } from './client.ts';
import { childrenOf, addressesWithPolicy, machineDirs, machinePids, stations } from './host.ts';
import { Log } from './log.ts';
import { until, within } from './poll.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
// What own-host.sh has built.
const MAIN = 'packages/daemon/dist/main.js';

/** Set to this, ATOLL_DAEMON starts a daemon that kills itself or its VMs where the file `fault` of its state directory says. */
export const FAULTY = 'packages/daemon/src/testing/fault-driver.ts';

// A start may have to try KVM and to end machines of an earlier run.
const START_MS = 60_000;
// More than the daemon allows itself.
const STOP_MS = 90_000;

const CLEAN_MS = 20_000;

// Three times the default: tests share the processors with whatever else the host does.
const BOOT_SECS = String(patient(180));

export type Env = Readonly<Record<string, string>>;

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A daemon of its own, on a port and a state directory of its own. Disposing of it stops it and checks that nothing stays. */
export class Daemon implements AsyncDisposable {
  readonly stateDir: string;
  readonly log: Log;
  readonly url: string;
  readonly #process: ChildProcess;
  readonly #ended: Promise<Ended>;
  readonly #env: Env;

  private constructor(stateDir: string, env: Env, started: Started, url: string) {
    this.stateDir = stateDir;
    this.#env = env;
    this.#process = started.process;
    this.#ended = started.ended;
    this.log = started.log;
    this.url = url;
  }

  /** Starts a daemon with these variables and answers once it listens. */
  static async start(env: Env = {}): Promise<Daemon> {
    const stateDir = env.SERVICE_STATE_DIR ?? (await makeStateDir());
    try {
      return await Daemon.#startIn(stateDir, env);
    } catch (error) {
      await rm(stateDir, { recursive: true, force: true });
      throw error;
    }
  }

  static async #startIn(stateDir: string, env: Env): Promise<Daemon> {
    const started = launch(stateDir, env);
    const { log, ended, process } = started;
    try {
      let isOver = false;
      void ended.then(() => (isOver = true));
      await until('the daemon listens', () => isOver || log.find('listening') !== undefined, START_MS);
      const url = log.find('listening')?.['url'];
      if (typeof url === 'string') return new Daemon(stateDir, env, started, url);
      throw new Error(`the daemon did not start:\n${log.text()}`);
    } catch (error) {
      process.kill('SIGKILL');
      await ended;
      throw error;
    }
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#process.exitCode === null && this.#process.signalCode === null;
  }

  /** The signal that ended it; null when none did. */
  get endedBy(): NodeJS.Signals | null {
    return this.#process.signalCode;
  }

  /** A client without a token. */
  get client(): Client {
    return new Client(this.url);
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name);
  }

  ended(withinMs = STOP_MS): Promise<Ended> {
    return within(`the daemon ends; its log:\n${this.log.tail()}`, this.#ended, withinMs);
  }

  /** Checks that the daemon has not ended by itself. */
  assertRunning(): void {
    if (this.isRunning) return;
    const how = this.#process.exitCode ?? this.#process.signalCode;
    throw new Error(`the daemon ended by itself (${how}); its log:\n${this.log.tail()}`);
  }

  /** Asks the daemon to end, and checks that it does so in order and leaves nothing. */
  async stop(withinMs = STOP_MS): Promise<void> {
    this.signal('SIGTERM');
    const { code, signal } = await this.ended(withinMs);
    if (code !== 0) throw new Error(`the daemon ended with ${code ?? signal}; its log:\n${this.log.tail()}`);
    await this.assertClean();
  }

  /** Ends the daemon without a chance to clear up. */
  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.ended();
  }

  /** Starts the next daemon on the same state directory, with the same variables and these. This one must have ended. */
  restart(env: Env = {}): Promise<Daemon> {
    return Daemon.#startIn(this.stateDir, { ...this.#env, ...env });
  }

  /** Checks that no process, file, policy or address of a machine is left, or is gone soon: what ended by itself is cleared up then. */
  async assertClean(): Promise<void> {
    let left: unknown[] = [];
    const isClean = async () => {
      const processes = [...(await machinePids(this.stateDir)), ...(await childrenOf(this.pid))];
      left = [
        ...processes,
        ...(await machineDirs(this.stateDir)),
        ...(await addressesWithPolicy()),
        ...(await stations()),
      ];
      return left.length === 0;
    };
    await until('nothing is left behind', isClean, CLEAN_MS).catch((error: unknown) => {
      throw new Error(`left behind: ${left.join(' ')}`, { cause: error });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      if (this.isRunning) await this.stop();
    } finally {
      this.#process.kill('SIGKILL');
      await rm(this.stateDir, { recursive: true, force: true });
    }
  }
}

/** Starts a daemon that is expected to refuse, and answers what it said. Uses a state directory of its own unless told. */
export async function startRefused(
  env: Env,
  stateDir?: string,
): Promise<Ended & { readonly stderr: string }> {
  const dir = stateDir ?? (await makeStateDir());
  const { process, ended, log } = launch(dir, env);
  try {
    return { ...(await within('the daemon refuses to start', ended, START_MS)), stderr: log.stderr };
  } finally {
    process.kill('SIGKILL');
    if (stateDir === undefined) await rm(dir, { recursive: true, force: true });
  }
}

/**
 * Starts a daemon and sends it the signal once its log holds this message, which a start says on its way. Answers how it ended and what
 * it left running.
 */
export async function endDuringStart(
  stateDir: string,
  message: string,
  signal: NodeJS.Signals,
): Promise<Ended & { readonly left: readonly string[]; readonly log: Log }> {
  const { process, ended, log } = launch(stateDir, {});
  try {
    await until(`the log says: ${message}`, () => log.find(message) !== undefined, START_MS);
    const children = await childrenOf(process.pid ?? 0);
    process.kill(signal);
    const end = await within('the daemon ends', ended, STOP_MS);
    return { ...end, left: children.filter((pid) => existsSync(`/proc/${pid}`)).map(String), log };
  } finally {
    process.kill('SIGKILL');
  }
}

interface Started {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
  readonly log: Log;
}

function launch(stateDir: string, env: Env): Started {
  // What the caller's own environment sets for another daemon is not for this one.
  const inherited = Object.entries(process.env).filter(
    ([name]) => name === 'SERVICE_USER' || !name.startsWith('SERVICE_'),
  );
  const child = spawn(process.execPath, [env['ATOLL_DAEMON'] ?? MAIN], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...Object.fromEntries(inherited),
      SERVICE_STATE_DIR: stateDir,
      SERVICE_SNAPSHOTS_DIR: join(stateDir, 'snapshots'),
      SERVICE_LISTEN_ADDR: '127.0.0.1:0',
      SERVICE_LOG_FORMAT: 'json',
      SERVICE_BOOT_TIMEOUT_SECS: BOOT_SECS,
      ...env,
    },
  });
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  return { process: child, ended, log: Log.of(child.stdout, child.stderr) };
}

async function makeStateDir(): Promise<string> {
  // As the kernel names it: working directories of processes are compared with it.
  return mkdtemp(join(await realpath(tmpdir()), 'atoll-e2e-'));
}

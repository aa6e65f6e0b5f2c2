import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Child } from '../../lib/child.ts';
import { describeExit } from '../../lib/child.ts';
import type { Deadline } from '../../lib/deadline.ts';
import type { Ring } from '../../lib/ring.ts';
import type { Machine, SavedState } from '../../ports/vmm.ts';
import { driveDevice, MACHINE_FILES } from './argv.ts';
import { FD } from './jail/plan.ts';
import { agreeOn, migrated } from './migration.ts';
import { QmpClient } from './qmp.ts';
import type { EventSink } from './qmp.ts';
import { receiveState, sendState } from './state-socket.ts';

// QEMU opens its sockets 10 to 30 ms after it is started.
const CONNECT_RETRY_MS = 4;

// What a person reads of a console in an error message.
const QUOTED_LINES = 12;

// To the monitor 0 is none.
const NO_LIMIT = { bps: 0, bps_rd: 0, bps_wr: 0, iops: 0, iops_rd: 0, iops_wr: 0 };

/** A QEMU that was started. */
export interface QemuProcess {
  readonly child: Child;
  readonly console: Ring;
  /** Where it runs and has its sockets. */
  readonly dir: string;
  /** Whether its memory is a file of its own that holds all of it. */
  readonly ownMemory: boolean;
  /** How many drives it has. */
  readonly drives: number;
  /** Gives back what was taken for it; to be called once it has ended. Never rejects. */
  release(): Promise<void>;
}

/** One QEMU process and its control socket. */
export class QemuMachine implements Machine {
  readonly agentSocket: string;
  readonly exited: Promise<string>;
  readonly #child: Child;
  readonly #console: Ring;
  readonly #qmp: QmpClient;
  readonly #stateSocket: string;
  readonly #ownMemory: boolean;
  readonly #drives: number;

  private constructor(process: QemuProcess, qmp: QmpClient, exited: Promise<string>) {
    this.#child = process.child;
    this.#console = process.console;
    this.#qmp = qmp;
    this.#ownMemory = process.ownMemory;
    this.#drives = process.drives;
    this.#stateSocket = join(process.dir, MACHINE_FILES.state);
    this.agentSocket = join(process.dir, MACHINE_FILES.agent);
    this.exited = exited;
  }

  /** Waits until the monitor of a process just started takes commands; the process may end instead. */
  static async attach(process: QemuProcess, deadline: Deadline): Promise<QemuMachine> {
    const { child, console, dir } = process;
    let guestEnded = false;
    const onEvent: EventSink = (event, data) => {
      if (event === 'SHUTDOWN' && data.guest === true) guestEnded = true;
    };
    const qmp = await connectWhenReady(child, console, join(dir, MACHINE_FILES.qmp), onEvent, deadline);
    const exited = child.exited.then(async (exit) => {
      qmp.close();
      await process.release();
      return guestEnded ? 'its guest shut down' : `its VM ended (${describeExit(exit)})`;
    });
    return new QemuMachine(process, qmp, exited);
  }

  get pid(): number {
    return this.#child.pid;
  }

  console(): string {
    return lastLines(this.#console);
  }

  async pause({ signal }: Deadline): Promise<void> {
    await this.#qmp.execute('stop', {}, signal);
  }

  async resume({ signal }: Deadline): Promise<void> {
    await this.#qmp.execute('cont', {}, signal);
  }

  async save(file: string, { signal }: Deadline): Promise<{ holdsMemory: boolean }> {
    await agreeOn(this.#qmp, this.#ownMemory, signal);
    const invite = async () => {
      await this.#qmp.execute('migrate', { uri: `unix:${MACHINE_FILES.state}` }, signal);
      await migrated(this.#qmp, signal);
    };
    await receiveState(this.#stateSocket, file, invite, signal);
    return { holdsMemory: !this.#ownMemory };
  }

  async load({ file, holdsMemory }: SavedState, { signal }: Deadline): Promise<void> {
    await agreeOn(this.#qmp, !holdsMemory, signal);
    const { channel } = this.#child;
    const uri = channel === undefined ? `unix:${MACHINE_FILES.state}` : `fd:${FD.state}`;
    await this.#qmp.execute('migrate-incoming', { uri }, signal);
    const to = channel ?? this.#stateSocket;
    await sendState(to, file, () => migrated(this.#qmp, signal), signal);
  }

  async liftDriveLimits({ signal }: Deadline): Promise<void> {
    for (let unit = 0; unit < this.#drives; unit += 1)
      await this.#qmp.execute('block_set_io_throttle', { id: driveDevice(unit), ...NO_LIMIT }, signal);
  }

  async stop(): Promise<void> {
    await this.#child.kill();
    await this.exited;
  }
}

async function connectWhenReady(
  child: Child,
  console: Ring,
  path: string,
  onEvent: EventSink,
  { signal }: Deadline,
): Promise<QmpClient> {
  for (;;) {
    try {
      return await QmpClient.connect(path, onEvent, signal);
    } catch (error) {
      signal.throwIfAborted();
      // Only a socket that is not there yet is worth another try, and only while the process lives.
      if (child.exit !== undefined || !isNotYet(error)) throw await earlyEnd(child, console, error);
      await Promise.race([sleep(CONNECT_RETRY_MS), child.exited]);
    }
  }
}

function isNotYet(error: unknown): boolean {
  return ['ENOENT', 'ECONNREFUSED'].includes((error as NodeJS.ErrnoException).code ?? '');
}

async function earlyEnd(child: Child, console: Ring, cause: unknown): Promise<Error> {
  await child.kill();
  const said = lastLines(console);
  const how = child.exit === undefined ? '' : ` (${describeExit(child.exit)})`;
  return new Error(`the VM monitor ended early${how}${said === '' ? '' : `; it said:\n${said}`}`, { cause });
}

// A terminal's escape sequences and control characters, which a log or a JSON error has no use for.
// eslint-disable-next-line no-control-regex
const UNPRINTABLE = /\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]/g;

function lastLines(console: Ring): string {
  const text = console.contents().toString().replace(UNPRINTABLE, '');
  return text.trim().split('\n').slice(-QUOTED_LINES).join('\n');
}

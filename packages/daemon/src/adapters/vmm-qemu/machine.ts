import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Child } from '../../lib/child.ts';
import { describeExit } from '../../lib/child.ts';
import type { Deadline } from '../../lib/deadline.ts';
import type { Ring } from '../../lib/ring.ts';
import type { Machine } from '../../ports/vmm.ts';
import { MACHINE_FILES } from './argv.ts';
import { QmpClient } from './qmp.ts';
import type { EventSink } from './qmp.ts';

// QEMU opens its sockets 10 to 30 ms after it is started.
const CONNECT_RETRY_MS = 4;

// What a person reads of a console in an error message.
const QUOTED_LINES = 12;

/** One QEMU process and its control socket. */
export class QemuMachine implements Machine {
  readonly agentSocket: string;
  readonly exited: Promise<string>;
  readonly #child: Child;
  readonly #console: Ring;

  private constructor(child: Child, console: Ring, dir: string, exited: Promise<string>) {
    this.#child = child;
    this.#console = console;
    this.agentSocket = join(dir, MACHINE_FILES.agent);
    this.exited = exited;
  }

  /** Waits until the monitor of a process just started takes commands; the process may end instead. */
  static async attach(child: Child, console: Ring, dir: string, deadline: Deadline): Promise<QemuMachine> {
    let guestEnded = false;
    const onEvent: EventSink = (event, data) => {
      if (event === 'SHUTDOWN' && data.guest === true) guestEnded = true;
    };
    const qmp = await connectWhenReady(child, console, join(dir, MACHINE_FILES.qmp), onEvent, deadline);
    const exited = child.exited.then((exit) => {
      qmp.close();
      return guestEnded ? 'its guest shut down' : `its VM ended (${describeExit(exit)})`;
    });
    return new QemuMachine(child, console, dir, exited);
  }

  get pid(): number {
    return this.#child.pid;
  }

  console(): string {
    return lastLines(this.#console);
  }

  async stop(): Promise<void> {
    await this.#child.kill();
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

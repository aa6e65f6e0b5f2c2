import { spawn } from 'node:child_process';
import type { ChildProcessByStdio } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { describeExit } from '../../lib/child.ts';
import { assertPiped } from '../../lib/pipes.ts';
import { Ring } from '../../lib/ring.ts';
import { z } from 'zod';

// A change takes less than a millisecond, on a host that may be as busy as can be.
const ANSWER_MS = 30_000;
const COMPLAINT_BYTES = 4096;

/** Who is on a device, and what becomes of its packets to the outside: `accept`, `drop`, or the name of a chain. */
export interface Station {
  readonly tap: string;
  readonly mac: string;
  readonly address: string;
  readonly policy?: string | undefined;
  /** The policy that another takes the place of; undefined: none is in force. */
  readonly was?: string | undefined;
}

/** What the helper does, each request one of them (host/netlink/serve.go). */
type Action =
  | { readonly open: readonly Station[] }
  | { readonly close: readonly Station[] }
  | { readonly forget: string };

const Answer = z.object({ id: z.number(), error: z.string().optional() });

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

type Helper = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * The netlink helper: one process that changes what `nft`, `bridge`, `ip` and `conntrack` would each start one for. It is started with the
 * first request, and again with the next one whenever it has ended.
 */
export class Netlink implements AsyncDisposable {
  readonly #path: string;
  readonly #bridge: string;
  readonly #waiting = new Map<number, Waiter>();
  #nextId = 1;
  #helper: { readonly process: Helper; readonly ended: Promise<unknown> } | undefined;

  /** @param path the helper's program. */
  constructor(path: string, bridge: string) {
    this.#path = path;
    this.#bridge = bridge;
  }

  /**
   * Puts guests on their devices, all of them or none: where the bridge and the host look for them, and where the rules do. A policy that
   * was in force is replaced in one step.
   */
  open(stations: readonly Station[]): Promise<void> {
    return this.#request({ open: stations });
  }

  /** Takes guests off their devices, as much of them as is there, and has the kernel forget their connections. */
  close(stations: readonly Station[]): Promise<void> {
    return this.#request({ close: stations });
  }

  /** Has the kernel forget every connection from or to a network, in CIDR notation. */
  forget(network: string): Promise<void> {
    return this.#request({ forget: network });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const helper = this.#helper;
    if (helper === undefined) return;
    // It ends with its input, after what is under way.
    helper.process.stdin.end();
    const timer = setTimeout(() => helper.process.kill('SIGKILL'), ANSWER_MS);
    await helper.ended;
    clearTimeout(timer);
  }

  async #request(action: Action): Promise<void> {
    const { process: helper } = (this.#helper ??= this.#start());
    const id = this.#nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    this.#waiting.set(id, { resolve: () => resolve(undefined), reject });
    // One that does not answer is stuck, and so would be the next request.
    const timer = setTimeout(() => helper.kill('SIGKILL'), ANSWER_MS);
    try {
      helper.stdin.write(`${JSON.stringify({ id, ...action })}\n`);
      await promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
    }
  }

  /** With the daemon's own capability, and no way to more; it dies with the daemon. */
  #start(): { process: Helper; ended: Promise<unknown> } {
    const options = ['--pdeathsig', 'KILL', '--no-new-privs'];
    const helper = spawn('setpriv', [...options, '--', this.#path, this.#bridge], {
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, LC_ALL: 'C' },
    });
    assertPiped('the netlink helper', helper);
    const complaint = new Ring(COMPLAINT_BYTES);
    helper.stderr.on('data', (chunk: Buffer) => complaint.push(chunk));
    helper.stdin.on('error', () => undefined); // It ended: that is told below.
    createInterface({ input: helper.stdout }).on('line', (line) => this.#settle(line));
    const { promise: ended, resolve } = Promise.withResolvers<undefined>();
    const end = (reason: string) => {
      this.#helper = undefined;
      const said = complaint.contents().toString().trim();
      const error = new Error(`the netlink helper ended (${reason})${said === '' ? '' : `: ${said}`}`);
      for (const { reject } of this.#waiting.values()) reject(error);
      resolve(undefined);
    };
    helper.once('error', (error) => end(error.message));
    helper.once('close', (code, signal) => end(describeExit({ code, signal })));
    return { process: helper, ended };
  }

  #settle(line: string): void {
    const { id, error } = Answer.parse(JSON.parse(line));
    const waiter = this.#waiting.get(id);
    if (error === undefined) waiter?.resolve();
    else waiter?.reject(new Error(`the host's network: ${error}`));
  }
}

import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Child, describeExit } from '../../lib/child.ts';
import type { Deadline } from '../../lib/deadline.ts';
import { Ring } from '../../lib/ring.ts';
import type { NetworkPlan } from './plan.ts';
import { requireTool } from './tools.ts';

const POLL_MS = 20;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
const OUTPUT_BYTES = 4096;

// Every guest asks at the same time, and an answer may take the outside seconds; dnsmasq's own 150 is for a household.
const QUESTIONS_UNDER_WAY = 2000;
const REMEMBERED_NAMES = 2000;
// What gets through everywhere in one packet (DNS flag day 2020); a longer answer comes over TCP.
const UDP_ANSWER_BYTES = 1232;

/**
 * Resolves names for guests: dnsmasq as a child without any capability, on the gateway's address, started again whenever it
 * ends. It asks the host's own resolvers and reads their list again when that changes.
 */
export class NameServer implements AsyncDisposable {
  readonly #plan: NetworkPlan;
  readonly #resolvConf: string;
  readonly #log: Logger;
  readonly #stop = new AbortController();
  readonly #output = new Ring(OUTPUT_BYTES);
  #supervision: Promise<void> = Promise.resolve();
  #child: Child | undefined;

  private constructor(plan: NetworkPlan, resolvConf: string, log: Logger) {
    this.#plan = plan;
    this.#resolvConf = resolvConf;
    this.#log = log;
  }

  /** Answers when it listens. @param resolvConf the file that names the host's resolvers. */
  static async start(
    plan: NetworkPlan,
    resolvConf: string,
    log: Logger,
    deadline: Deadline,
  ): Promise<NameServer> {
    const server = new NameServer(plan, resolvConf, log);
    await server.#awaitFreePort(deadline.signal);
    const child = await server.#spawn();
    try {
      await server.#awaitListening(child, deadline.signal);
    } catch (error) {
      await child.kill();
      throw error;
    }
    server.#supervision = server.#supervise(child);
    return server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#child?.kill();
    await this.#supervision;
  }

  async #spawn(): Promise<Child> {
    this.#child = await Child.spawn(requireTool('dnsmasq'), nameServerArgs(this.#plan, this.#resolvConf), {
      cwd: '/',
      onOutput: (chunk) => this.#output.push(chunk),
    });
    // Stopped while it was being started.
    if (this.#stopping()) await this.#child.kill();
    return this.#child;
  }

  async #supervise(child: Child): Promise<void> {
    for (let current = child, pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      const started = performance.now();
      const exit = await current.exited;
      if (this.#stopping()) return;
      this.#log.error(
        { reason: describeExit(exit), output: this.#output.contents().toString() },
        'the name server ended: starting it again',
      );
      if (performance.now() - started > LONGEST_PAUSE_MS) pause = FIRST_PAUSE_MS;
      await sleep(pause, undefined, { signal: this.#stop.signal }).catch(() => undefined);
      if (this.#stopping()) return;
      current = await this.#spawn();
    }
  }

  #stopping(): boolean {
    return this.#stop.signal.aborted;
  }

  /** The last daemon's name server dies with it, but not in the same instant. */
  async #awaitFreePort(signal: AbortSignal): Promise<void> {
    while (await this.#listens()) await sleep(POLL_MS, undefined, { signal });
  }

  async #awaitListening(child: Child, signal: AbortSignal): Promise<void> {
    while (!(await this.#listens())) {
      if (child.exit !== undefined)
        throw new Error(`the name server ended at once: ${this.#output.contents().toString().trim()}`);
      await sleep(POLL_MS, undefined, { signal });
    }
  }

  async #listens(): Promise<boolean> {
    const socket = connect(this.#plan.dnsPort, this.#plan.gateway);
    try {
      await once(socket, 'connect');
      return true;
    } catch {
      return false;
    } finally {
      socket.destroy();
    }
  }
}

function nameServerArgs(plan: NetworkPlan, resolvConf: string): string[] {
  return [
    '--keep-in-foreground',
    '--log-facility=-',
    '--conf-file=/dev/null',
    '--pid-file=',
    // Which user to become: root means to stay who it is.
    '--user=root',
    `--port=${plan.dnsPort}`,
    `--listen-address=${plan.gateway}`,
    '--bind-interfaces',
    `--resolv-file=${resolvConf}`,
    // The host's own names are no business of guests.
    '--no-hosts',
    `--cache-size=${REMEMBERED_NAMES}`,
    `--dns-forward-max=${QUESTIONS_UNDER_WAY}`,
    `--edns-packet-max=${UDP_ANSWER_BYTES}`,
  ];
}

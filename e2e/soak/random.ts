import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultDesk } from '../faults/desk.ts';
import { assertBooksEqualHost } from '../faults/ledger.ts';
import type { Answer } from '../harness/client.ts';
import { machinePids } from '../harness/host.ts';
import { bringUp, listSnapshots } from '../harness/snapshot.ts';
import type { Chance } from './chance.ts';
import { choose, takeStock } from './operations.ts';
import type { Operation } from './operations.ts';

// Operations at a time.
const AT_ONCE = 3;
const OPERATIONS_BETWEEN_AUDITS = 40;
const LATEST_KILL_MS = 1500;

// What is stopped or hangs takes until its deadline each time, so it is rare.
const SHARES = { fault: 0.2, daemonKilled: 0.03, vmKilled: 0.04 };
/** How often each of what may go wrong is drawn. */
const FAULTS = [...Array<string>(8).fill('error'), 'vm killed', 'vm killed', 'daemon killed', 'hang'];

/** What may go wrong at each point (packages/daemon/src/lib/fault-points.ts). */
type Points = Readonly<Record<string, readonly string[]>>;

export interface Tally {
  operations: number;
  succeeded: number;
  readonly refused: Record<string, number>;
  cutOff: number;
  faults: number;
  daemonKills: number;
  audits: number;
}

/** Asks for random things while random things go wrong, and checks now and then that the books equal the host. */
export class RandomRun {
  readonly #desk: FaultDesk;
  readonly #chance: Chance;
  readonly #points: Points;
  /** What was asked and what came of it, in order, for whoever looks for the reason of a failure. */
  readonly journal: string[] = [];
  readonly tally: Tally = {
    ...{ operations: 0, succeeded: 0, cutOff: 0, faults: 0, daemonKills: 0, audits: 0 },
    refused: {},
  };

  constructor(desk: FaultDesk, chance: Chance, points: Points) {
    this.#desk = desk;
    this.#points = points;
    this.#chance = chance;
  }

  /** Rejects, naming the operation, at the first answer that is no answer; and when the books do not equal the host. */
  async run(operations: number): Promise<void> {
    for (let audited = 0; this.tally.operations < operations;) {
      await this.#round(Math.min(1 + this.#chance.below(AT_ONCE), operations - this.tally.operations));
      if (this.tally.operations - audited < OPERATIONS_BETWEEN_AUDITS) continue;
      audited = this.tally.operations;
      await this.#audit();
    }
    await this.#audit();
    await this.#checkSnapshots();
  }

  async #round(many: number): Promise<void> {
    const chance = this.#chance;
    const stock = await takeStock(this.#desk.client);
    const operations = Array.from({ length: many }, () => choose(chance, stock));
    if (chance.happens(SHARES.fault)) await this.#arm();
    const calls = operations.map((operation) => this.#perform(operation));
    if (chance.happens(SHARES.vmKilled)) await this.#killVm();
    if (chance.happens(SHARES.daemonKilled)) {
      await sleep(chance.below(LATEST_KILL_MS));
      if (this.#desk.daemon.isRunning) await this.#desk.daemon.kill();
    }
    await Promise.all(calls);
    if (!this.#desk.daemon.isRunning) await this.#startAgain();
  }

  async #perform({ what, call }: Operation): Promise<void> {
    this.tally.operations += 1;
    let answer: Answer;
    try {
      answer = await call(this.#desk.client);
    } catch (error) {
      // Its process is reaped a moment after its sockets have closed.
      await this.#desk.daemon.ended(10_000);
      if (this.#desk.daemon.endedBy !== 'SIGKILL')
        throw new Error(`${what}: the daemon ended`, { cause: error });
      this.tally.cutOff += 1;
      this.journal.push(`${what}: cut off`);
      return;
    }
    const { status, json, text } = answer;
    this.journal.push(`${what}: ${status} ${text}`);
    if (status < 300) {
      this.tally.succeeded += 1;
      return;
    }
    const { code } = (json ?? {}) as { code?: string };
    if (code === undefined || code === 'INTERNAL') throw new Error(`${what}: ${status} ${text}`);
    this.tally.refused[code] = (this.tally.refused[code] ?? 0) + 1;
  }

  /** Has one thing go wrong at the next who passes there. */
  async #arm(): Promise<void> {
    const fault = this.#chance.pick(FAULTS) ?? 'error';
    const points = Object.keys(this.#points).filter((point) => this.#points[point]?.includes(fault));
    const point = this.#chance.pick(points);
    if (point === undefined) return;
    this.tally.faults += 1;
    this.journal.push(`${fault} at ${point}`);
    await this.#desk.strike(point, fault);
  }

  async #killVm(): Promise<void> {
    const pid = this.#chance.pick(await machinePids(this.#desk.daemon.stateDir));
    if (pid === undefined) return;
    this.tally.faults += 1;
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended meanwhile.
    }
  }

  /** A start may go wrong as well: the one after it does not. */
  async #startAgain(): Promise<void> {
    this.tally.daemonKills += 1;
    await this.#desk.restart().catch(async () => {
      this.tally.daemonKills += 1;
      await this.#desk.restart();
    });
  }

  async #audit(): Promise<void> {
    this.tally.audits += 1;
    await this.#desk.disarm();
    // What a pool keeps ready is on no list.
    await this.#desk.client.call('DELETE', '/pools/pool');
    await assertBooksEqualHost(this.#desk.daemon);
  }

  /** Whatever was cut off: a snapshot that is held goes on where it was. */
  async #checkSnapshots(): Promise<void> {
    const { client } = this.#desk;
    for (const { id, forked_into } of await listSnapshots(client)) {
      if (forked_into !== null) await client.call('DELETE', `/sandboxes/${forked_into}?keep=false`);
      // No fork: a drive that the snapshot may write is the snapshot's alone.
      const sandbox = await bringUp(client, `${id}/resume?retain_history=false&fresh_identity=true`);
      await sandbox.sh('true');
      await sandbox.destroy();
    }
  }
}

import type { Client } from '../harness/client.ts';
import type { Daemon } from '../harness/daemon.ts';
import { createSandbox } from '../harness/sandbox.ts';
import type { Sandbox } from '../harness/sandbox.ts';

export interface ChurnPlan {
  /** Sandboxes that are asked for, those included whose answer a kill cuts off; the history lists a thousand at most. */
  readonly creates: number;
  /** How often the daemon is killed on the way. */
  readonly kills: number;
}

/** One sandbox of `GET /sandboxes/history`. */
export interface Past {
  readonly id: string;
  readonly created_at_unix: number;
  readonly end_reason: string | null;
}

// As many as the processors carry; each keeps some alive, so that a kill finds sandboxes in every state.
const WORKERS = 4;
const LIVE_EACH = 3;

/** What is known of a sandbox: a call that was cut off may have had its effect or not. */
type Fate = 'live' | 'ending' | 'destroyed' | 'orphaned_by_restart';

/** Creates and ends sandboxes all the time while the daemon is killed and started again, and keeps account of them. */
export class Churn {
  readonly #plan: ChurnPlan;
  readonly #fates = new Map<string, Fate>();
  /** Ids in the order in which each worker was told them. */
  readonly #told: string[][] = Array.from({ length: WORKERS }, () => []);
  #asked = 0;
  #cutOff = 0;

  constructor(plan: ChurnPlan) {
    this.#plan = plan;
  }

  /** Does all of the plan. Answers the last daemon, which runs. */
  async run(first: Daemon): Promise<Daemon> {
    const { creates, kills } = this.#plan;
    let daemon = first;
    for (let phase = 1; phase <= kills + 1; phase += 1) {
      const target = Math.round((creates * phase) / (kills + 1));
      const over = new AbortController();
      const workers = this.#told.map((told) => this.#work(daemon.client, told, target, over.signal));
      if (phase <= kills) {
        while (this.#asked < target) await new Promise((resolve) => setTimeout(resolve, 5));
        over.abort();
        await daemon.kill();
      }
      await Promise.all(workers);
      if (phase > kills) return daemon;
      for (const [id, fate] of this.#fates) if (fate === 'live') this.#fates.set(id, 'orphaned_by_restart');
      daemon = await daemon.restart();
    }
    return daemon;
  }

  async #work(client: Client, told: string[], target: number, killed: AbortSignal): Promise<void> {
    const mine: Sandbox[] = [];
    const unlessKilled = (error: unknown) => {
      if (!killed.aborted) throw error;
    };
    while (this.#asked < target && !killed.aborted) {
      this.#asked += 1;
      const created = createSandbox(client, { mem_size_mib: 128, vcpu_count: 1 });
      const sandbox = await created.catch(unlessKilled);
      if (sandbox === undefined) {
        this.#cutOff += 1;
        return;
      }
      told.push(sandbox.id);
      this.#fates.set(sandbox.id, 'live');
      mine.push(sandbox);
      if (mine.length <= LIVE_EACH) continue;
      const [oldest] = mine.splice(0, 1);
      if (oldest !== undefined) await this.#end(oldest).catch(unlessKilled);
    }
    if (killed.aborted) return;
    for (const sandbox of mine) await this.#end(sandbox);
  }

  async #end(sandbox: Sandbox): Promise<void> {
    this.#fates.set(sandbox.id, 'ending');
    const { status, text } = await sandbox.destroy();
    if (status !== 204) throw new Error(`destroy: ${status} ${text}`);
    this.#fates.set(sandbox.id, 'destroyed');
  }

  /** What a history, newest first, says otherwise than what happened; none means that it is right. */
  faults(history: readonly Past[]): string[] {
    const places = new Map(history.map(({ id }, at) => [id, at]));
    const strangers = history.filter(({ id }) => !this.#fates.has(id));
    return [
      ...this.#wrongEnds(new Map(history.map((past) => [past.id, past]))),
      ...(strangers.length > this.#cutOff ? [`${strangers.length} that nobody was told of`] : []),
      ...strangers.flatMap(({ id, end_reason }) =>
        end_reason === 'orphaned_by_restart' ? [] : [`${id}, whose create was cut off: ${end_reason}`],
      ),
      ...this.#told.flatMap((ids) =>
        ids.flatMap((id, at) => {
          const before = ids[at - 1];
          const isRight = before === undefined || (places.get(before) ?? 0) > (places.get(id) ?? 0);
          return isRight ? [] : [`${id} is listed behind ${before}, which is older`];
        }),
      ),
    ];
  }

  #wrongEnds(history: ReadonlyMap<string, Past>): string[] {
    return [...this.#fates].flatMap(([id, fate]) => {
      const told = history.get(id)?.end_reason;
      const right = fate === 'ending' ? ['destroyed', 'orphaned_by_restart'] : [fate];
      return right.some((each) => each === told) ? [] : [`${id} is ${told}, and was ${fate}`];
    });
  }
}

import type { NetworkIdentity } from '../../ports/network.ts';
import { identityAt, numberOf } from './plan.ts';
import type { NetworkPlan } from './plan.ts';

/**
 * Which identities of the network are held. Those that nobody ever had are given first, then the longest unused: what is still under way
 * to the last holder of an address has time to end, and a checkpoint finds its own free for long.
 */
export class Identities {
  readonly #plan: NetworkPlan;
  readonly #held = new Set<number>();
  /** Those that somebody had, longest unused first. */
  readonly #used = new Set<number>();
  /** None from here on was ever taken, but for those in the two sets. */
  #next = 0;

  constructor(plan: NetworkPlan) {
    this.#plan = plan;
  }

  /** Takes one that is free; undefined when there is none. */
  take(): NetworkIdentity | undefined {
    const number = this.#findFree();
    if (number === undefined) return undefined;
    this.#enter(number);
    return identityAt(this.#plan, number);
  }

  /** Takes this very one. Answers false when it is held, or is not of this network. */
  hold(identity: NetworkIdentity): boolean {
    const number = numberOf(this.#plan, identity);
    if (number === undefined || this.#held.has(number)) return false;
    this.#enter(number);
    return true;
  }

  has(identity: NetworkIdentity): boolean {
    const number = numberOf(this.#plan, identity);
    return number !== undefined && this.#held.has(number);
  }

  /** Gives one back. Harmless when it is not held. */
  release(identity: NetworkIdentity): void {
    const number = numberOf(this.#plan, identity);
    if (number !== undefined && this.#held.delete(number)) this.#used.add(number);
  }

  /** Has one that is not held given only after those that nobody ever had. Harmless when it is not of this network. */
  spare(identity: NetworkIdentity): void {
    const number = numberOf(this.#plan, identity);
    if (number !== undefined && !this.#held.has(number)) this.#used.add(number);
  }

  #findFree(): number | undefined {
    while (this.#held.has(this.#next) || this.#used.has(this.#next)) this.#next += 1;
    return this.#next < this.#plan.identities ? this.#next : this.#used.values().next().value;
  }

  #enter(number: number): void {
    this.#used.delete(number);
    this.#held.add(number);
  }
}

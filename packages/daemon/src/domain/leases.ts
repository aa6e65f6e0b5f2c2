import { NetworkExhausted } from '../ports/network.ts';
import type { HeldLease, Network, NetworkLease } from '../ports/network.ts';
import { AtollError } from '../lib/errors.ts';

/** Who has a network identity: `sandbox <id>` or `snapshot <id>`. */
export type Holder = `sandbox ${string}` | `snapshot ${string}`;

/**
 * Who holds which network lease. A lease goes back to the network, and its policy with it, when its last holder lets go: so a
 * snapshot keeps the identity that is frozen into its guest, and its policy lies dormant.
 */
export class Leases {
  readonly #network: Network;
  readonly #held = new Map<number, { readonly lease: NetworkLease; readonly holders: Set<Holder> }>();

  constructor(network: Network) {
    this.#network = network;
  }

  /** Takes any free lease. Throws NETWORK_POOL_EXHAUSTED. */
  take(holder: Holder): NetworkLease {
    try {
      const lease = this.#network.lease();
      this.#held.set(lease.slot, { lease, holders: new Set([holder]) });
      return lease;
    } catch (error) {
      if (!(error instanceof NetworkExhausted)) throw error;
      throw AtollError.of('NETWORK_POOL_EXHAUSTED', { size: error.size }, error);
    }
  }

  /** Shares a lease that is held, or takes this very one. Answers false when it is another's now, or not of this network. */
  claim(lease: NetworkLease, holder: Holder): boolean {
    const entry = this.#held.get(lease.slot);
    if (entry === undefined) {
      if (!this.#network.hold(lease)) return false;
      this.#held.set(lease.slot, { lease, holders: new Set([holder]) });
      return true;
    }
    entry.holders.add(holder);
    return true;
  }

  /** Lets go of a lease; the last holder's going ends it. Harmless when it was not held. */
  async drop(lease: NetworkLease, holder: Holder): Promise<void> {
    const entry = this.#held.get(lease.slot);
    if (entry === undefined || !entry.holders.delete(holder) || entry.holders.size > 0) return;
    this.#held.delete(lease.slot);
    await this.#network.release(lease);
  }

  holders(lease: NetworkLease): readonly Holder[] {
    return [...(this.#held.get(lease.slot)?.holders ?? [])];
  }

  /** Id of the sandbox that is on the same lease as a snapshot: its fork. */
  forkOf(lease: NetworkLease, snapshotId: string): string | undefined {
    const holders = this.holders(lease);
    if (!holders.includes(`snapshot ${snapshotId}`)) return undefined;
    const holder = holders.find((each) => each.startsWith('sandbox '));
    return holder?.slice('sandbox '.length);
  }

  /** Brings back the leases of an earlier run, before any other is taken. Answers those that cannot be held any more. */
  async reclaim(
    held: readonly (HeldLease & { readonly holder: Holder })[],
    signal: AbortSignal,
  ): Promise<readonly Holder[]> {
    const refused = await this.#network.reclaim(held, signal);
    const kept = held.filter((entry) => !refused.includes(entry));
    for (const { lease, holder } of kept) this.#held.set(lease.slot, { lease, holders: new Set([holder]) });
    return held.filter((entry) => refused.includes(entry)).map(({ holder }) => holder);
  }
}

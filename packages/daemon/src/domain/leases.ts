import { NetworkExhausted } from '../ports/network.ts';
import type { Network, NetworkIdentity, NetworkLease } from '../ports/network.ts';
import type { Deadline } from '../lib/deadline.ts';
import { AtollError } from '../lib/errors.ts';

type SandboxHolder = `sandbox ${string}`;
type SnapshotHolder = `snapshot ${string}`;
/** Who has a network identity. */
export type Holder = SandboxHolder | SnapshotHolder;

/**
 * Who holds which network identity. A sandbox has its identity on a device while it lives; a snapshot keeps the one that is frozen into
 * its guest, and no device. An identity goes back to the network when its last holder lets go.
 */
export class Leases {
  readonly #network: Network;
  /** Sandboxes that have ended, and whose devices are being given back. Settles when that is over, and never rejects. */
  readonly #ending = new Map<Holder, Promise<unknown>>();
  readonly #held = new Map<string, { readonly identity: NetworkIdentity; readonly holders: Set<Holder> }>();
  /** Sandboxes of which nobody knows any more, until what they have is given back. */
  readonly #leaving = new Map<SandboxHolder, Promise<unknown>>();

  constructor(network: Network) {
    this.#network = network;
  }

  /** Takes any free identity, on a device; waits for one that a sandbox leaves. Throws NETWORK_POOL_EXHAUSTED. */
  async take(holder: SandboxHolder, deadline: Deadline): Promise<NetworkLease> {
    const lease = await this.#afterLeaving(() => this.#network.lease(), deadline);
    this.#enter(lease, holder);
    return lease;
  }

  /**
   * Takes the identity of a snapshot, on a device, for a sandbox. Answers undefined when it is not of this network any more. Throws
   * IDENTITY_HELD while anyone else has it, and NETWORK_POOL_EXHAUSTED. Waits for a sandbox that leaves the identity, or a device, or
   * gives them back.
   */
  async claim(
    identity: NetworkIdentity,
    snapshotId: string,
    holder: SandboxHolder,
    deadline: Deadline,
  ): Promise<NetworkLease | undefined> {
    const key = keyOf(identity);
    const had = this.#held.get(key)?.holders;
    const ends = [...this.#leaving, ...this.#ending];
    await deadline.race(Promise.all(ends.flatMap(([each, end]) => (had?.has(each) === true ? [end] : []))));
    const { address } = identity;
    const other = this.holders(identity).find((each) => each !== `snapshot ${snapshotId}`);
    if (other !== undefined) throw AtollError.of('IDENTITY_HELD', { id: snapshotId, address, holder: other });
    if (!this.#held.has(key) && !this.#network.hold(identity)) return undefined;
    // Its own from now on, also while it waits for a device.
    this.#enter(identity, holder);
    try {
      return await this.#afterLeaving(() => this.#network.attach(identity), deadline);
    } catch (error) {
      this.#letGo(identity, holder);
      throw error;
    }
  }

  /** Has a snapshot keep the identity of the sandbox that it was taken of, which still holds it. */
  keep(lease: NetworkLease, holder: SnapshotHolder): void {
    this.#enter(lease, holder);
  }

  /**
   * Has a sandbox hold nothing any more, as far as others can tell, while it ends: who takes what it has waits for that.
   * @param end settles when `end` was called for it, and never rejects.
   */
  leave(holder: SandboxHolder, end: Promise<unknown>): void {
    this.#leaving.set(holder, end);
    void end.then(() => this.#leaving.delete(holder));
  }

  /**
   * Gives back the device of a sandbox, and lets go of its identity. Until this answers it still holds both, since whoever had the identity
   * next might meet what is left of this one; when it rejects it may be called again. Harmless when it holds neither.
   */
  async end(lease: NetworkLease, holder: SandboxHolder): Promise<void> {
    if (this.#held.get(keyOf(lease))?.holders.has(holder) !== true) return;
    const given = this.#network.detach(lease).then(() => {
      this.#ending.delete(holder);
      this.#letGo(lease, holder);
    });
    this.#ending.set(
      holder,
      given.catch(() => undefined),
    );
    await given;
  }

  /** Lets go of the identity of a snapshot. Harmless when it was not held for it. */
  drop(identity: NetworkIdentity, holder: SnapshotHolder): void {
    this.#letGo(identity, holder);
  }

  /** Who has an identity; not those that leave it. */
  holders(identity: NetworkIdentity): readonly Holder[] {
    const holders = this.#held.get(keyOf(identity))?.holders ?? [];
    return [...holders].filter((each) => !this.#leaving.has(each as SandboxHolder));
  }

  /** Id of the sandbox that has the same identity as a snapshot: its fork. */
  forkOf(identity: NetworkIdentity, snapshotId: string): string | undefined {
    const holders = this.holders(identity);
    if (!holders.includes(`snapshot ${snapshotId}`)) return undefined;
    const holder = holders.find((each) => each.startsWith('sandbox ') && !this.#ending.has(each));
    return holder?.slice('sandbox '.length);
  }

  /**
   * Brings back the identities of an earlier run's snapshots, before any other is taken. Answers whose cannot be held any more.
   * @param used those of its checkpoints, which are given to others as late as can be.
   */
  async reclaim(
    snapshots: readonly { readonly holder: SnapshotHolder; readonly identity: NetworkIdentity }[],
    used: readonly NetworkIdentity[],
    signal: AbortSignal,
  ): Promise<readonly Holder[]> {
    const held = snapshots.map(({ holder, identity }) => ({ holder, ...identity }));
    const refused = await this.#network.reclaim(held, used, signal);
    for (const each of held) if (!refused.includes(each)) this.#enter(each, each.holder);
    return refused.map(({ holder }) => holder);
  }

  /** Takes something, if need be after one that is leaving has left, and another, and so on. */
  async #afterLeaving<T>(take: () => T, deadline: Deadline): Promise<T> {
    for (;;) {
      try {
        return take();
      } catch (error) {
        if (!(error instanceof NetworkExhausted)) throw error;
        const { what, size } = error;
        if (this.#leaving.size === 0) throw AtollError.of('NETWORK_POOL_EXHAUSTED', { what, size }, error);
      }
      await deadline.race(Promise.race(this.#leaving.values()));
    }
  }

  #enter(identity: NetworkIdentity, holder: Holder): void {
    const entry = this.#held.get(keyOf(identity));
    if (entry === undefined) this.#held.set(keyOf(identity), { identity, holders: new Set([holder]) });
    else entry.holders.add(holder);
  }

  #letGo(identity: NetworkIdentity, holder: Holder): void {
    const entry = this.#held.get(keyOf(identity));
    if (entry === undefined || !entry.holders.delete(holder) || entry.holders.size > 0) return;
    this.#held.delete(keyOf(identity));
    this.#network.release(entry.identity);
  }
}

function keyOf({ mac, address, prefixLength, gateway }: NetworkIdentity): string {
  return `${mac} ${address}/${prefixLength} ${gateway}`;
}

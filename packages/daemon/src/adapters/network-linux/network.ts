import { NetworkExhausted } from '../../ports/network.ts';
import type { EgressPolicy, HeldLease, Network, NetworkLease } from '../../ports/network.ts';
import type { RateLimit } from '../../ports/rate-limit.ts';
import { Batch } from './batch.ts';
import { shape, unshape, unshapeAll } from './limits.ts';
import { planNetwork } from './plan.ts';
import type { NetworkPlan, NetworkSettings } from './plan.ts';
import { assertHostReady, findUplink } from './host.ts';
import { egressRules, hostRules, packetRules, releaseRules } from './ruleset.ts';
import { changeRules, forgetAllConnections, forgetConnections } from './tools.ts';

// A command takes some milliseconds, on a host that may be as busy as can be.
const COMMAND_MS = 30_000;

// A transaction is one message to the kernel; five policies of five thousand networks each are one of some megabytes.
const MAX_RULES_CHARACTERS = 512 * 1024;

export interface LinuxNetworkOptions extends NetworkSettings {
  /** The interface to the outside; undefined: that of the default route. */
  readonly uplink: string | undefined;
}

/** Taps on a Linux bridge, and nftables rules; needs CAP_NET_ADMIN, and a host that is set up. */
export class LinuxNetwork implements Network {
  readonly plan: NetworkPlan;
  /** The interface to the outside; undefined when the host has none, and then guests reach nothing beyond it. */
  readonly uplink: string | undefined;
  /** Longest unused first: what is still under way to the last holder of an address has time to end. */
  readonly #free: NetworkLease[];
  readonly #leased = new Set<number>();
  /** Slots whose devices shape what passes. */
  readonly #shaped = new Set<number>();
  readonly #changes = new Batch<string>(
    (rules) => changeRules(rules.join('\n'), AbortSignal.timeout(COMMAND_MS)),
    MAX_RULES_CHARACTERS,
    (rules) => rules.length,
  );
  readonly #partings = new Batch<string>(
    (addresses) => forgetConnections(addresses, this.plan.subnet, AbortSignal.timeout(COMMAND_MS)),
    Infinity,
  );

  private constructor(plan: NetworkPlan, uplink: string | undefined) {
    this.plan = plan;
    this.uplink = uplink;
    this.#free = [...plan.leases];
  }

  /** Rejects, saying what is wrong and what mends it, when the host is not set up for these settings. */
  static async create(options: LinuxNetworkOptions, signal: AbortSignal): Promise<LinuxNetwork> {
    const plan = planNetwork(options);
    const uplink = options.uplink ?? (await findUplink(signal));
    await assertHostReady(plan, uplink, signal);
    return new LinuxNetwork(plan, uplink);
  }

  get size(): number {
    return this.plan.leases.length;
  }

  lease(): NetworkLease {
    const lease = this.#free.shift();
    if (lease === undefined) throw new NetworkExhausted(this.size);
    this.#leased.add(lease.slot);
    return lease;
  }

  hold(lease: NetworkLease): boolean {
    const place = this.#free.findIndex((free) => isSame(free, lease));
    if (place === -1) return false;
    this.#free.splice(place, 1);
    this.#leased.add(lease.slot);
    return true;
  }

  async applyEgress(
    lease: NetworkLease,
    policy: EgressPolicy | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    if (!this.#leased.has(lease.slot)) throw new Error(`${lease.tap} is not leased`);
    signal.throwIfAborted();
    await this.#changes.add(egressRules(this.plan, lease, policy));
    signal.throwIfAborted();
  }

  async applyRateLimit(
    lease: NetworkLease,
    limit: RateLimit | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    if (!this.#leased.has(lease.slot)) throw new Error(`${lease.tap} is not leased`);
    signal.throwIfAborted();
    const { bandwidthBytesPerSec, opsPerSec } = limit ?? {};
    await this.#unshape(lease);
    if (bandwidthBytesPerSec !== undefined) {
      // Noted first: what is done of it in vain is taken away as well.
      this.#shaped.add(lease.slot);
      await shape(this.plan, lease, bandwidthBytesPerSec, AbortSignal.timeout(COMMAND_MS));
    }
    await this.#changes.add(packetRules(this.plan, lease, opsPerSec));
    signal.throwIfAborted();
  }

  async #unshape(lease: NetworkLease): Promise<void> {
    if (!this.#shaped.has(lease.slot)) return;
    await unshape(this.plan, lease, AbortSignal.timeout(COMMAND_MS));
    this.#shaped.delete(lease.slot);
  }

  async release(lease: NetworkLease): Promise<void> {
    if (!this.#leased.delete(lease.slot)) return;
    await this.#unshape(lease);
    await this.#changes.add(releaseRules(this.plan, lease));
    await this.#partings.add(lease.address);
    this.#free.push(lease);
  }

  async reclaim(held: readonly HeldLease[], signal: AbortSignal): Promise<readonly HeldLease[]> {
    const [kept, refused] = this.#sort(held);
    const policies = kept.map(({ lease, egress }) => egressRules(this.plan, lease, egress));
    await changeRules([hostRules(this.plan, this.uplink), ...policies].join('\n'), signal);
    await unshapeAll(this.plan, signal);
    // No guest lives across a start, so no connection of one does.
    await forgetAllConnections(this.plan.subnet, signal);
    for (const { lease } of kept) {
      this.#leased.add(lease.slot);
      this.#free.splice(
        this.#free.findIndex(({ slot }) => slot === lease.slot),
        1,
      );
    }
    for (const { lease, rateLimit } of kept)
      if (rateLimit) await this.applyRateLimit(lease, rateLimit, signal);
    return refused;
  }

  /** Tells leases that still are what their slot makes them from those that are not. */
  #sort(held: readonly HeldLease[]): [kept: HeldLease[], refused: HeldLease[]] {
    const kept = new Map<number, HeldLease>();
    const refused: HeldLease[] = [];
    for (const entry of held) {
      const { lease } = entry;
      const own = this.plan.leases[lease.slot];
      if (own === undefined || kept.has(lease.slot) || !isSame(own, lease)) refused.push(entry);
      else kept.set(lease.slot, entry);
    }
    return [[...kept.values()], refused];
  }
}

function isSame(a: NetworkLease, b: NetworkLease): boolean {
  const { tap, mac, address, prefixLength, gateway } = b;
  return (
    a.tap === tap &&
    a.mac === mac &&
    a.address === address &&
    a.prefixLength === prefixLength &&
    a.gateway === gateway
  );
}

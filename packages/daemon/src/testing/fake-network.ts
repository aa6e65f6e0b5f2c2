import type { RateLimit } from '../ports/rate-limit.ts';
import { NetworkExhausted } from '../ports/network.ts';
import type { EgressPolicy, HeldLease, Network, NetworkLease } from '../ports/network.ts';

/** A network of bookkeeping alone: no packet is ever stopped. */
export class FakeNetwork implements Network {
  readonly size: number;
  /** By slot; there while the lease is, `undefined` meaning unrestricted. */
  readonly policies = new Map<number, EgressPolicy | undefined>();
  readonly limits = new Map<number, RateLimit>();
  readonly #free: NetworkLease[];
  readonly #leased = new Set<number>();

  constructor(size: number) {
    this.size = size;
    this.#free = Array.from({ length: size }, (_, slot) => fakeLease(slot));
  }

  lease(): NetworkLease {
    const lease = this.#free.shift();
    if (lease === undefined) throw new NetworkExhausted(this.size);
    this.#leased.add(lease.slot);
    return lease;
  }

  hold(lease: NetworkLease): boolean {
    const place = this.#free.findIndex((free) => free.slot === lease.slot && free.address === lease.address);
    if (place === -1) return false;
    this.#free.splice(place, 1);
    this.#leased.add(lease.slot);
    return true;
  }

  applyEgress(lease: NetworkLease, policy: EgressPolicy | undefined, signal: AbortSignal): Promise<void> {
    return Promise.try(() => {
      signal.throwIfAborted();
      if (!this.#leased.has(lease.slot)) throw new Error(`${lease.tap} is not leased`);
      this.policies.set(lease.slot, policy);
    });
  }

  applyRateLimit(lease: NetworkLease, limit: RateLimit | undefined, signal: AbortSignal): Promise<void> {
    return Promise.try(() => {
      signal.throwIfAborted();
      if (!this.#leased.has(lease.slot)) throw new Error(`${lease.tap} is not leased`);
      if (limit === undefined) this.limits.delete(lease.slot);
      else this.limits.set(lease.slot, limit);
    });
  }

  release(lease: NetworkLease): Promise<void> {
    if (this.#leased.delete(lease.slot)) {
      this.policies.delete(lease.slot);
      this.limits.delete(lease.slot);
      this.#free.push(lease);
    }
    return Promise.resolve();
  }

  reclaim(held: readonly HeldLease[]): Promise<readonly HeldLease[]> {
    const refused = held.filter(({ lease, egress, rateLimit }) => {
      const place = this.#free.findIndex(
        (free) => free.slot === lease.slot && free.address === lease.address,
      );
      if (place === -1) return true;
      this.#free.splice(place, 1);
      this.#leased.add(lease.slot);
      this.policies.set(lease.slot, egress);
      if (rateLimit) this.limits.set(lease.slot, rateLimit);
      return false;
    });
    return Promise.resolve(refused);
  }
}

function fakeLease(slot: number): NetworkLease {
  const host = slot + 2;
  const mac = `02:00:c6:33:64:${host.toString(16).padStart(2, '0')}`;
  return {
    slot,
    tap: `fake-${slot}`,
    mac,
    address: `198.51.100.${host}`,
    prefixLength: 24,
    gateway: '198.51.100.1',
  };
}

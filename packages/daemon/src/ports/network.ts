import type { RateLimit } from './rate-limit.ts';

/**
 * A network device of the host's pool, and who a guest is on it. All of it follows from the slot, so a lease that was
 * written down and is held again is the same lease.
 */
export interface NetworkLease {
  /** Which device of the pool, from 0. */
  readonly slot: number;
  /** The host's name of the device. */
  readonly tap: string;
  readonly mac: string;
  /** The guest's IPv4 address, the length of its network's prefix, and its default route and name server. */
  readonly address: string;
  readonly prefixLength: number;
  readonly gateway: string;
}

/**
 * Which IPv4 networks beyond the host a guest may reach: a denied one is closed, else an allowed one is open, else the mode
 * decides. Networks are in CIDR notation without host bits. Names are resolved under any policy.
 */
export interface EgressPolicy {
  readonly mode: 'allow_all' | 'deny_all';
  readonly allowCidrs: readonly string[];
  readonly denyCidrs: readonly string[];
}

/** A lease that outlived the daemon which took it, with its policy; none means unrestricted. */
export interface HeldLease {
  readonly lease: NetworkLease;
  readonly egress: EgressPolicy | undefined;
  readonly rateLimit?: RateLimit | undefined;
}

/**
 * Hands out the host's network devices and keeps each guest to its own. On a lease without a policy applied nothing gets out
 * but questions to the name server and the metadata service.
 */
export interface Network {
  /** How many devices there are. */
  readonly size: number;
  /** Takes a free device. Throws NetworkExhausted, at once, when there is none. */
  lease(): NetworkLease;
  /** Takes this very device. Answers false when it is leased, or the lease is not one of this host's network. */
  hold(lease: NetworkLease): boolean;
  /** Puts a policy in force on a lease that is held, in place of the one before, in one step. */
  applyEgress(lease: NetworkLease, policy: EgressPolicy | undefined, signal: AbortSignal): Promise<void>;
  /**
   * Limits a lease that is held, each way on its own, in place of the limit before; undefined lifts it. What is beyond a bandwidth
   * waits, in a short queue; packets beyond a number of them are dropped.
   */
  applyRateLimit(lease: NetworkLease, limit: RateLimit | undefined, signal: AbortSignal): Promise<void>;
  /**
   * Ends a lease: its policy, its limits and its connections are gone when the device is free again. Harmless when it has ended. When
   * this rejects the device stays out of the pool, for the next start to clear.
   */
  release(lease: NetworkLease): Promise<void>;
  /**
   * Brings the host's rules to what this daemon's settings ask for, with these leases held, their policies and limits in force, and every
   * other device free, all in one step. To be called once, before the first lease. Answers those that cannot be held, since
   * the host's network is another one now or they were named twice.
   */
  reclaim(held: readonly HeldLease[], signal: AbortSignal): Promise<readonly HeldLease[]>;
}

/** Every device of the pool is leased. */
export class NetworkExhausted extends Error {
  override readonly name = 'NetworkExhausted';
  readonly size: number;
  constructor(size: number) {
    super(`all ${size} network devices are leased`);
    this.size = size;
  }
}

import type { Duplex } from 'node:stream';
import type { RateLimit } from './rate-limit.ts';

/** Who a guest is on the guests' network. It is frozen into a snapshot, and outlives the device it was used on. */
export interface NetworkIdentity {
  readonly mac: string;
  /** The guest's IPv4 address, the length of its network's prefix, and its default route and name server. */
  readonly address: string;
  readonly prefixLength: number;
  readonly gateway: string;
}

/** An identity, and the network device of the host's pool that it is used on while its sandbox lives. */
export interface NetworkLease extends NetworkIdentity {
  /** The host's name of the device. */
  readonly tap: string;
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

/** What a guest may do on its network. */
export interface NetworkRules {
  /** Undefined: it may reach everything beyond the host. */
  readonly egress: EgressPolicy | undefined;
  /**
   * Limits each way on its own; undefined: none. What is beyond a bandwidth waits, in a short queue; packets beyond a number of them are
   * dropped.
   */
  readonly rateLimit: RateLimit | undefined;
}

/**
 * Hands out identities and the host's network devices, and keeps each guest to its own. There are many identities, and as many devices
 * as sandboxes may live at a time. On a lease that is not open no packet passes, either way.
 */
export interface Network {
  /** How many devices there are. */
  readonly size: number;
  /**
   * Takes an identity that nobody holds, of all those the longest unused, and a free device. Throws NetworkExhausted, at once, when
   * there is none.
   */
  lease(): NetworkLease;
  /** Takes this very identity, and no device. Answers false when it is held, or is not one of this host's network. */
  hold(identity: NetworkIdentity): boolean;
  /** Takes a free device for an identity that is held and on no device. Throws NetworkExhausted, at once, when there is none. */
  attach(identity: NetworkIdentity): NetworkLease;
  /** Lets a lease's guest use its network within these rules, in place of those before, in one step. */
  open(lease: NetworkLease, rules: NetworkRules, signal: AbortSignal): Promise<void>;
  /**
   * Opens a TCP connection from the gateway's address to a port of a lease's guest, on the address that it has on the network. Rejects with
   * the system's error when the guest refuses, with the signal's reason when that aborts first; where no packet passes nothing else ends
   * the wait. Destroying the connection before both of its sides have ended resets it.
   */
  connect(lease: NetworkLease, port: number, signal: AbortSignal): Promise<Duplex>;
  /**
   * Takes a lease's device back; its identity stays held. No packet passes from then on, and its connections are gone when the device is
   * free again. Harmless when it has none. When this rejects the device stays out of the pool until it is called again and answers, or the next start.
   */
  detach(lease: NetworkLease): Promise<void>;
  /** Gives an identity back that is on no device. Harmless when it is not held. */
  release(identity: NetworkIdentity): void;
  /**
   * Brings the host's rules to what this daemon's settings ask for, with these identities held, on no device, and all devices free. To be
   * called once, before the first lease. Answers those that cannot be held, since the host's network is another one now or they were
   * named twice.
   * @param used identities that nobody holds, and that are given to others only after those that nobody ever had.
   */
  reclaim<Held extends NetworkIdentity>(
    held: readonly Held[],
    used: readonly NetworkIdentity[],
    signal: AbortSignal,
  ): Promise<readonly Held[]>;
}

/** Every device of the pool is in use, or every address of the network. */
export class NetworkExhausted extends Error {
  override readonly name = 'NetworkExhausted';
  readonly what: 'devices' | 'addresses';
  readonly size: number;
  constructor(what: 'devices' | 'addresses', size: number) {
    super(`all ${size} network ${what} are in use`);
    this.what = what;
    this.size = size;
  }
}

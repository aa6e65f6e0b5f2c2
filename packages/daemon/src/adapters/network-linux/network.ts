import { userInfo } from 'node:os';
import type { Duplex } from 'node:stream';
import { NetworkExhausted } from '../../ports/network.ts';
import type { Network, NetworkIdentity, NetworkLease, NetworkRules } from '../../ports/network.ts';
import { Batch } from './batch.ts';
import { connectTo } from './connection.ts';
import { assertHostReady, findUplink } from './host.ts';
import { Identities } from './identities.ts';
import { shape, unshape, unshapeAll } from './limits.ts';
import { planNetwork, tapOf } from './plan.ts';
import type { NetworkPlan, NetworkSettings } from './plan.ts';
import { Netlink } from './netlink.ts';
import type { Station } from './netlink.ts';
import { hostRules, noOwnRules, ownRules } from './ruleset.ts';
import { removeAllStations } from './stations.ts';
import { changeRules } from './tools.ts';

// A command takes some milliseconds, on a host that may be as busy as can be.
const COMMAND_MS = 30_000;

// A transaction is one message to the kernel; five policies of five thousand networks each are one of some megabytes.
const MAX_RULES_CHARACTERS = 512 * 1024;

export interface LinuxNetworkOptions extends NetworkSettings {
  /** The interface to the outside; undefined: that of the default route. */
  readonly uplink: string | undefined;
  /** The netlink helper's program. */
  readonly netlinkPath: string;
}

/** An identity on a device of the pool, by the device's number. */
interface Attachment {
  readonly device: number;
  readonly identity: NetworkIdentity;
  /** What becomes of its packets to the outside; undefined: it has not been opened. */
  policy?: string;
}

/** Taps on a Linux bridge, and nftables rules; needs CAP_NET_ADMIN, and a host that is set up. */
export class LinuxNetwork implements Network, AsyncDisposable {
  readonly plan: NetworkPlan;
  /** The interface to the outside; undefined when the host has none, and then guests reach nothing beyond it. */
  readonly uplink: string | undefined;
  readonly #identities: Identities;
  /** Numbers of the free devices, longest unused first. */
  readonly #free: number[];
  /** Who is on which device, by address. */
  readonly #attached = new Map<string, Attachment>();
  /** Who is on a device that is being taken back, by address. */
  readonly #leaving = new Map<string, Attachment>();
  /** Devices that shape what passes. */
  readonly #shaped = new Set<number>();
  /** Devices that have rules of their own. */
  readonly #ruled = new Set<number>();
  readonly #netlink: Netlink;
  readonly #changes = new Batch<string>(
    (rules) => changeRules(rules.join('\n'), AbortSignal.timeout(COMMAND_MS)),
    MAX_RULES_CHARACTERS,
    (rules) => rules.length,
  );
  readonly #arrivals = new Batch<Station>((stations) => this.#netlink.open(stations), Infinity);
  readonly #departures = new Batch<Station>((stations) => this.#netlink.close(stations), Infinity);

  private constructor(plan: NetworkPlan, uplink: string | undefined, netlink: Netlink) {
    this.plan = plan;
    this.uplink = uplink;
    this.#netlink = netlink;
    this.#identities = new Identities(plan);
    this.#free = plan.taps.map((_, device) => device);
  }

  /** Rejects, saying what is wrong and what mends it, when the host is not set up for these settings. */
  static async create(options: LinuxNetworkOptions, signal: AbortSignal): Promise<LinuxNetwork> {
    const plan = planNetwork(options);
    const uplink = options.uplink ?? (await findUplink(signal));
    await assertHostReady(plan, uplink, signal);
    return new LinuxNetwork(plan, uplink, new Netlink(options.netlinkPath, plan.bridge));
  }

  get size(): number {
    return this.plan.taps.length;
  }

  lease(): NetworkLease {
    this.#assertFree();
    const identity = this.#identities.take();
    if (identity === undefined) throw new NetworkExhausted('addresses', this.plan.identities);
    return this.attach(identity);
  }

  hold(identity: NetworkIdentity): boolean {
    return this.#identities.hold(identity);
  }

  attach(identity: NetworkIdentity): NetworkLease {
    const { mac, address, prefixLength, gateway } = identity;
    if (!this.#identities.has(identity)) throw new Error(`${address} is not held`);
    if (this.#attached.has(address) || this.#leaving.has(address))
      throw new Error(`${address} is on a device already`);
    this.#assertFree();
    const device = this.#free.shift() ?? 0;
    this.#attached.set(address, { device, identity });
    return { tap: tapOf(this.plan, device), mac, address, prefixLength, gateway };
  }

  async open(lease: NetworkLease, rules: NetworkRules, signal: AbortSignal): Promise<void> {
    const attachment = this.#find(lease, this.#attached);
    if (attachment === undefined) throw new Error(`${lease.address} is not on ${lease.tap}`);
    signal.throwIfAborted();
    // Limits and lists first: nothing passes without them.
    await this.#shape(attachment.device, rules.rateLimit?.bandwidthBytesPerSec);
    const { policy, text } = ownRules(this.plan, attachment.device, rules);
    if (text !== undefined) await this.#rule(attachment.device, text);
    await this.#arrivals.add({ ...lease, policy, was: attachment.policy });
    attachment.policy = policy;
    if (text === undefined) await this.#unrule(attachment.device);
    signal.throwIfAborted();
  }

  connect(lease: NetworkLease, port: number, signal: AbortSignal): Promise<Duplex> {
    return Promise.try(() => {
      if (this.#find(lease, this.#attached) === undefined)
        throw new Error(`${lease.address} is not on ${lease.tap}`);
      return connectTo(lease.address, port, signal);
    });
  }

  async detach(lease: NetworkLease): Promise<void> {
    // Of one that could not be taken back before, each step is done again.
    const attachment = this.#find(lease, this.#attached) ?? this.#find(lease, this.#leaving);
    if (attachment === undefined) return;
    const { address } = lease;
    this.#attached.delete(address);
    this.#leaving.set(address, attachment);
    await this.#departures.add(lease);
    // Each to its end, so that none of them meets the next who has the device.
    const steps = await Promise.allSettled([
      this.#unrule(attachment.device),
      this.#shape(attachment.device, undefined),
    ]);
    for (const step of steps) if (step.status === 'rejected') throw step.reason;
    this.#leaving.delete(address);
    this.#free.push(attachment.device);
  }

  release(identity: NetworkIdentity): void {
    if (this.#attached.has(identity.address)) throw new Error(`${identity.address} is on a device`);
    this.#identities.release(identity);
  }

  async reclaim<Held extends NetworkIdentity>(
    held: readonly Held[],
    used: readonly NetworkIdentity[],
    signal: AbortSignal,
  ): Promise<readonly Held[]> {
    await changeRules(hostRules(this.plan, this.uplink, userInfo().uid), signal);
    await removeAllStations(this.plan, signal);
    await unshapeAll(this.plan, signal);
    // No guest lives across a start, so no connection of one does.
    await this.#netlink.forget(this.plan.subnet);
    const refused = held.filter((identity) => !this.hold(identity));
    for (const identity of used) this.#identities.spare(identity);
    return refused;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#netlink[Symbol.asyncDispose]();
  }

  #assertFree(): void {
    if (this.#free.length === 0) throw new NetworkExhausted('devices', this.size);
  }

  #find({ tap, address }: NetworkLease, among: ReadonlyMap<string, Attachment>): Attachment | undefined {
    const attachment = among.get(address);
    return attachment !== undefined && tapOf(this.plan, attachment.device) === tap ? attachment : undefined;
  }

  /** Puts rules of its own in force on a device, in place of those before. */
  async #rule(device: number, text: string): Promise<void> {
    // Noted first: what fails may still have been done.
    this.#ruled.add(device);
    await this.#changes.add(text);
  }

  async #unrule(device: number): Promise<void> {
    if (!this.#ruled.has(device)) return;
    await this.#changes.add(noOwnRules(this.plan, device));
    this.#ruled.delete(device);
  }

  /** Puts a bandwidth in force on a device, in place of the one before; undefined lifts it. */
  async #shape(device: number, bytesPerSecond: number | undefined): Promise<void> {
    const signal = AbortSignal.timeout(COMMAND_MS);
    if (this.#shaped.has(device)) await unshape(this.plan, device, signal);
    this.#shaped.delete(device);
    if (bytesPerSecond === undefined) return;
    // Noted first: what is done of it in vain is taken away as well.
    this.#shaped.add(device);
    await shape(this.plan, device, bytesPerSecond, signal);
  }
}

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Network, NetworkIdentity, NetworkLease, NetworkRules } from '../../ports/network.ts';

/** A Network, perhaps in another process: there even a lease is a matter of waiting. */
export interface RemoteNetwork {
  lease(): Promise<NetworkLease>;
  hold(identity: NetworkIdentity): Promise<boolean>;
  attach(identity: NetworkIdentity): Promise<NetworkLease>;
  open(...args: Parameters<Network['open']>): Promise<void>;
  /** Connects, waiting so many milliseconds, and answers what the other side says until it ends the connection. */
  connect(lease: NetworkLease, port: number, ms: number): Promise<string>;
  detach(lease: NetworkLease): Promise<void>;
  release(identity: NetworkIdentity): Promise<void>;
  reclaim(
    held: readonly NetworkIdentity[],
    used?: readonly NetworkIdentity[],
  ): Promise<readonly NetworkIdentity[]>;
}

export interface NetworkUnderTest extends AsyncDisposable {
  readonly network: RemoteNetwork;
  readonly size: number;
  /** Puts a guest on a lease that says "reached" to who connects to a port of any of its addresses. */
  serve(lease: NetworkLease, port: number): Promise<void>;
}

const PORT = 7000;
// What is stopped on its way is waited for in vain; an answer takes a millisecond, on a busy machine some hundred.
const STOPPED_MS = 500;
const ANSWER_MS = 10_000;
const OPEN: NetworkRules = { egress: undefined, rateLimit: undefined };
const CLOSED: NetworkRules = {
  egress: { mode: 'deny_all', allowCidrs: [], denyCidrs: [] },
  rateLimit: undefined,
};
const LISTED: NetworkRules = {
  egress: { mode: 'allow_all', allowCidrs: ['10.0.0.0/8'], denyCidrs: ['10.1.0.0/16', '10.1.2.0/24'] },
  rateLimit: undefined,
};

/** What every Network keeps. `setUp` makes one that has not been reclaimed, of at least three devices and many more addresses. */
export function networkSuite(name: string, setUp: () => Promise<NetworkUnderTest>): void {
  describe(name, () => {
    const { signal } = new AbortController();
    let it: NetworkUnderTest;
    let network: RemoteNetwork;
    beforeEach(async () => {
      it = await setUp();
      ({ network } = it);
    });
    afterEach(() => it[Symbol.asyncDispose]());

    const restart = async () => {
      await it[Symbol.asyncDispose]();
      it = await setUp();
      ({ network } = it);
    };
    const takeAll = async (count = it.size) => {
      const leases: NetworkLease[] = [];
      while (leases.length < count) leases.push(await network.lease());
      return leases as [NetworkLease, NetworkLease, ...NetworkLease[]];
    };
    const exhausted = () => `all ${it.size} network devices are in use`;

    test('leases each device and each identity once, and says so when there is no device', async () => {
      await network.reclaim([]);
      const leases = await takeAll();
      for (const key of ['tap', 'mac', 'address'] as const)
        expect(new Set(leases.map((lease) => lease[key])).size).toBe(it.size);
      await expect(network.lease()).rejects.toThrow(exhausted());
    });

    test('has any number of identities held, with all devices for those who live', async () => {
      await network.reclaim([]);
      const held: NetworkLease[] = [];
      while (held.length < 3 * it.size) {
        const lease = await network.lease();
        await network.open(lease, LISTED, signal);
        await network.detach(lease);
        held.push(lease);
      }
      const live = await takeAll();
      expect(new Set([...held, ...live].map(({ address }) => address)).size).toBe(4 * it.size);
      const [wanted] = held;
      if (wanted === undefined) throw new Error('nothing is held');
      await expect(network.attach(wanted)).rejects.toThrow(exhausted());
      await network.detach(live[1]);
      expect(await network.attach(wanted)).toEqual({ ...wanted, tap: live[1].tap });
    });

    test('puts an identity on whatever device is free, and on one at a time', async () => {
      await network.reclaim([]);
      const [first, second] = await takeAll();
      await expect(network.attach(first)).rejects.toThrow('is on a device already');
      await network.detach(first);
      await network.detach(first);
      await network.detach(second);
      const moved = await network.attach(second);
      expect(moved).toEqual({ ...second, tap: first.tap });
      await network.open(moved, CLOSED, signal);
      // Of a lease that has ended nothing is taken back a second time.
      await network.detach(second);
      await network.open(moved, OPEN, signal);
      await expect(network.open(second, OPEN, signal)).rejects.toThrow('is not on');
    });

    test('gives a device and an identity again when they are free, after those that were free for longer', async () => {
      await network.reclaim([]);
      const [first, second] = await takeAll();
      for (const lease of [second, first]) await network.detach(lease);
      for (const lease of [first, second, second]) await network.release(lease);
      const [third, fourth] = await takeAll(2);
      expect([third.tap, fourth.tap]).toEqual([second.tap, first.tap]);
      for (const { address } of [third, fourth])
        expect([first.address, second.address]).not.toContain(address);
      await expect(network.attach(first)).rejects.toThrow('is not held');
      await expect(network.release(third)).rejects.toThrow('is on a device');
    });

    test('opens what is leased, again and again with other rules, and nothing else', async () => {
      await network.reclaim([]);
      const lease = await network.lease();
      const limits = [
        { bandwidthBytesPerSec: 10_000_000, opsPerSec: 100 },
        { opsPerSec: 1 },
        { bandwidthBytesPerSec: 1 },
      ].map((rateLimit) => ({ ...LISTED, rateLimit }));
      for (const rules of [OPEN, CLOSED, LISTED, LISTED, ...limits, ...limits, OPEN])
        await network.open(lease, rules, signal);
      await expect(network.open(lease, CLOSED, AbortSignal.abort())).rejects.toThrow('abort');
      await network.detach(lease);
      await expect(network.open(lease, CLOSED, signal)).rejects.toThrow('is not on');
    });

    test('connects to a guest whose lease is open, and to no other', async () => {
      await network.reclaim([]);
      const lease = await network.lease();
      await it.serve(lease, PORT);
      await expect(network.connect(lease, PORT, STOPPED_MS)).rejects.toThrow('timeout');
      await network.open(lease, CLOSED, signal);
      expect(await network.connect(lease, PORT, ANSWER_MS)).toBe('reached');
      await expect(network.connect(lease, PORT + 1, ANSWER_MS)).rejects.toThrow('ECONNREFUSED');
      await network.detach(lease);
      await expect(network.connect(lease, PORT, ANSWER_MS)).rejects.toThrow('is not on');
    });

    test('holds the identities that were recorded, on no device', async () => {
      const lease = await network.lease();
      await network.open(lease, LISTED, signal);
      await restart();
      expect(await network.reclaim([lease])).toEqual([]);
      const others = await takeAll(it.size - 1);
      expect(others.map(({ address }) => address)).not.toContain(lease.address);
      const again = await network.attach(lease);
      expect(again.address).toBe(lease.address);
      await network.open(again, CLOSED, signal);
      await expect(network.lease()).rejects.toThrow(exhausted());
    });

    test('gives identities that are noted as used to others later than those that nobody had', async () => {
      const [first, second] = await takeAll(2);
      await restart();
      await network.reclaim([first], [second, { ...second, address: '192.0.2.77' }]);
      const fresh = await takeAll();
      for (const { address } of fresh) expect([first.address, second.address]).not.toContain(address);
      expect(await network.hold(second)).toBe(true);
    });

    test('takes the very identity that is asked for, when it is free and of this network', async () => {
      await network.reclaim([]);
      const lease = await network.lease();
      expect(await network.hold(lease)).toBe(false);
      await network.detach(lease);
      expect(await network.hold(lease)).toBe(false);
      await network.release(lease);
      for (const other of [{ address: '192.0.2.77' }, { mac: '02:00:00:00:00:01' }, { gateway: '192.0.2.1' }])
        expect(await network.hold({ ...lease, ...other })).toBe(false);
      expect(await network.hold(lease)).toBe(true);
      const addresses = (await takeAll()).map(({ address }) => address);
      expect(addresses).not.toContain(lease.address);
    });

    test('answers which recorded identities are not of its network, or are recorded twice', async () => {
      const lease = await network.lease();
      await restart();
      const moved = { ...lease, address: '192.0.2.77' };
      const twice = { ...lease, tap: 'other' };
      expect(await network.reclaim([lease, moved, twice])).toEqual([moved, twice]);
      expect(await takeAll()).toHaveLength(it.size);
    });
  });
}

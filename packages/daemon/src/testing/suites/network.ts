import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { EgressPolicy, HeldLease, Network, NetworkLease } from '../../ports/network.ts';

/** A Network, perhaps in another process: there even a lease is a matter of waiting. */
export interface RemoteNetwork {
  lease(): Promise<NetworkLease>;
  hold(lease: NetworkLease): Promise<boolean>;
  applyEgress(...args: Parameters<Network['applyEgress']>): Promise<void>;
  applyRateLimit(...args: Parameters<Network['applyRateLimit']>): Promise<void>;
  release(lease: NetworkLease): Promise<void>;
  reclaim(held: readonly HeldLease[]): Promise<readonly HeldLease[]>;
}

export interface NetworkUnderTest extends AsyncDisposable {
  readonly network: RemoteNetwork;
  readonly size: number;
}

const CLOSED: EgressPolicy = { mode: 'deny_all', allowCidrs: [], denyCidrs: [] };
const LISTED: EgressPolicy = {
  mode: 'allow_all',
  allowCidrs: ['10.0.0.0/8'],
  denyCidrs: ['10.1.0.0/16', '10.1.2.0/24'],
};

/** What every Network keeps. `setUp` makes one that has not been reclaimed, of at least three devices. */
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

    const takeAll = async (count: number) => {
      const leases: NetworkLease[] = [];
      while (leases.length < count) leases.push(await network.lease());
      return leases;
    };

    test('leases each device once, and says so when there is none', async () => {
      await network.reclaim([]);
      const leases = await takeAll(it.size);
      for (const key of ['slot', 'tap', 'mac', 'address'] as const)
        expect(new Set(leases.map((lease) => lease[key])).size).toBe(it.size);
      await expect(network.lease()).rejects.toThrow(`all ${it.size} network devices are leased`);
    });

    test('leases a device again once it is released, after those that were free for longer', async () => {
      await network.reclaim([]);
      const [first, second] = await takeAll(it.size);
      if (first === undefined || second === undefined) throw new Error('too few devices');
      await network.release(second);
      await network.release(first);
      await network.release(first);
      expect(await network.lease()).toEqual(second);
      expect(await network.lease()).toEqual(first);
      await expect(network.lease()).rejects.toThrow();
    });

    test('puts policies in force on what is leased, again and again, and on nothing else', async () => {
      await network.reclaim([]);
      const lease = await network.lease();
      for (const policy of [undefined, CLOSED, LISTED, LISTED, undefined])
        await network.applyEgress(lease, policy, signal);
      await expect(network.applyEgress(lease, CLOSED, AbortSignal.abort())).rejects.toThrow('abort');
      await network.release(lease);
      await expect(network.applyEgress(lease, CLOSED, signal)).rejects.toThrow('is not leased');
    });

    test('limits what is leased, again and again, and nothing else', async () => {
      await network.reclaim([]);
      const lease = await network.lease();
      const both = { bandwidthBytesPerSec: 10_000_000, opsPerSec: 100 };
      for (const limit of [undefined, both, both, { opsPerSec: 1 }, { bandwidthBytesPerSec: 1 }, both])
        await network.applyRateLimit(lease, limit, signal);
      await expect(network.applyRateLimit(lease, both, AbortSignal.abort())).rejects.toThrow('abort');
      await network.release(lease);
      await expect(network.applyRateLimit(lease, both, signal)).rejects.toThrow('is not leased');
    });

    test('holds the leases that were recorded, and has every other device free', async () => {
      const [lease] = await takeAll(1);
      if (lease === undefined) throw new Error('too few devices');
      await it[Symbol.asyncDispose]();
      it = await setUp();
      ({ network } = it);
      expect(
        await network.reclaim([{ lease, egress: LISTED, rateLimit: { bandwidthBytesPerSec: 1e6 } }]),
      ).toEqual([]);
      const others = await takeAll(it.size - 1);
      expect(others.map(({ slot }) => slot)).not.toContain(lease.slot);
      await expect(network.lease()).rejects.toThrow();
      await network.applyEgress(lease, CLOSED, signal);
      await network.release(lease);
      expect(await network.lease()).toEqual(lease);
    });

    test('takes the very device that is asked for, when it is free and of this network', async () => {
      await network.reclaim([]);
      const lease = await network.lease();
      expect(await network.hold(lease)).toBe(false);
      await network.release(lease);
      expect(await network.hold({ ...lease, address: '192.0.2.77' })).toBe(false);
      expect(await network.hold(lease)).toBe(true);
      await network.applyEgress(lease, CLOSED, signal);
      expect((await takeAll(it.size - 1)).map(({ slot }) => slot)).not.toContain(lease.slot);
    });

    test('gives back recorded leases that are not of its devices, or are recorded twice', async () => {
      const lease = await network.lease();
      await it[Symbol.asyncDispose]();
      it = await setUp();
      ({ network } = it);
      const good = { lease, egress: undefined };
      const gone = { lease: { ...lease, slot: it.size, tap: 'gone' }, egress: CLOSED };
      const moved = { lease: { ...lease, slot: 1, address: '192.0.2.77' }, egress: CLOSED };
      const twice = { lease, egress: CLOSED };
      expect(await network.reclaim([good, gone, moved, twice])).toEqual([gone, moved, twice]);
      expect(await takeAll(it.size - 1)).toHaveLength(it.size - 1);
    });
  });
}

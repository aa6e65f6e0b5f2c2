import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Lease, Policy } from './guest.ts';
import { Lab, USER_ID } from './lab.ts';
import { OUTSIDE } from './outside.ts';

const SIZE = 64;
const ROUNDS = 5;
// The bit of CAP_NET_ADMIN (capabilities(7)), as /proc writes a set.
const NET_ADMIN_ALONE = '0000000000001000';
const NOTHING = '0000000000000000';

const policyOf = (n: number): Policy => ({
  mode: n % 2 === 0 ? 'allow_all' : 'deny_all',
  allowCidrs: ['10.0.0.0/8', `203.0.113.${n}/32`],
  denyCidrs: n % 3 === 0 ? [] : [`198.51.100.${n}/32`, '192.0.2.0/25'],
});

describe('the pool', () => {
  let lab: Lab;
  let untouched: string;
  beforeAll(async () => {
    lab = await Lab.create({ poolSize: SIZE });
    untouched = await lab.rules();
  });
  afterAll(() => lab[Symbol.asyncDispose]());

  const childrenNamed = async (name: string) => {
    const children = await lab.host('cat', `/proc/${lab.driver.pid}/task/${lab.driver.pid}/children`);
    const pids = children.trim().split(' ');
    const names = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')));
    return pids.filter((_, at) => names[at]?.trim() === name);
  };
  const lease = async () => (await lab.driver.call('lease')) as Lease;
  const takeAll = () => Promise.all(Array.from({ length: SIZE }, lease));
  /** The lists in force: a chain without rules is that of no lease. */
  const lists = async () => (await lab.rules()).match(/chain egress-\d+ {\n\t\t[^}]+/g) ?? [];

  test('leaves the host as it was, its rules byte for byte, after every device was leased five times over', async () => {
    const addresses = new Set<string>();
    for (let round = 0; round < ROUNDS; round += 1) {
      const leases = await takeAll();
      expect(new Set(leases.map(({ tap }) => tap)).size).toBe(SIZE);
      for (const { mac, address } of leases) addresses.add(`${mac} ${address}`);
      await Promise.all(leases.map((each, n) => lab.open(each, policyOf(n))));
      expect(await lists()).toHaveLength(SIZE);
      expect(await lab.stations()).toHaveLength(2 * SIZE);
      await expect(lease()).rejects.toThrow('NetworkExhausted');
      await Promise.all(leases.map((each) => lab.end(each)));
      expect(await lab.rules()).toBe(untouched);
      expect(await lab.stations()).toEqual([]);
    }
    // No address came again.
    expect(addresses.size).toBe(ROUNDS * SIZE);
  });

  test('takes back every station of those that end together, also beside leases that were never opened', async () => {
    const leases = await takeAll();
    const isOpened = (_: Lease, n: number) => n % 3 > 0;
    await Promise.all(leases.filter(isOpened).map((each) => lab.open(each)));
    expect(await lab.stations()).not.toEqual([]);
    await Promise.all(leases.map((each) => lab.end(each)));
    expect(await lab.stations()).toEqual([]);
    expect(await lab.rules()).toBe(untouched);
  });

  test('of a driver that was killed in the middle is whole after the next start, and what is held is held', async () => {
    const leases = await takeAll();
    for (const [n, each] of leases.slice(0, 2).entries()) await lab.open(each, policyOf(n));
    const underWay = leases.slice(2, 12).map((each, n) => lab.open(each, policyOf(n)));
    expect(await lab.stations()).not.toEqual([]);
    await lab.driver.kill();
    await Promise.allSettled(underWay);
    await lab.startDriver();
    const held = leases.slice(0, 2);
    expect(await lab.driver.call('reclaim', { held, used: [] })).toEqual([]);
    expect(await lab.rules()).toBe(untouched);
    expect(await lab.stations()).toEqual([]);
    const next = await takeAll();
    await expect(lease()).rejects.toThrow('NetworkExhausted');
    const recorded = held.map(({ address }) => address);
    expect(next.filter(({ address }) => recorded.includes(address))).toEqual([]);
    await Promise.all(next.map((each) => lab.end(each)));
    expect(await lab.rules()).toBe(untouched);
  });

  test('gives the next holder of an address none of the last one’s connections', async () => {
    const [guest] = await lab.addGuests(1);
    if (guest === undefined) throw new Error('no guest');
    await guest.udp(OUTSIDE[0], 7000);
    const tracked = () => lab.host('conntrack', '-L', '-s', guest.lease.address);
    expect(await tracked()).toContain(OUTSIDE[0]);
    await lab.driver.call('detach', { lease: guest.lease });
    expect(await tracked()).toBe('');
  });

  test('gives the next holder of an address none of the host’s connections to the last one', async () => {
    const [guest] = await lab.addGuests(1);
    if (guest === undefined) throw new Error('no guest');
    const { lease } = guest;
    await guest.listen(7000);
    await lab.driver.call('connect', { lease, port: 7000, ms: 10_000 });
    const tracked = () => lab.host('conntrack', '-L', '-d', lease.address);
    expect(await tracked()).toContain('dport=7000');
    // The host speaks on it to the end, as a preview's kept connection may.
    await lab.driver.call('detachConnected', { lease, port: 7000 });
    expect(await tracked()).toBe('');
  });

  test('is whole when what changes it has ended in between', async () => {
    const guest = await lab.addGuest();
    await lab.driver.call('detach', { lease: guest.lease });
    const again = (await lab.driver.call('attach', { identity: guest.lease })) as Lease;
    const [helper = ''] = await childrenNamed('atoll-netlink');
    await lab.host('kill', '-9', helper);
    await expect.poll(() => childrenNamed('atoll-netlink')).toEqual([]);
    await lab.open(again);
    expect(await lab.stations()).toHaveLength(2);
    await lab.end(again);
    expect(await lab.rules()).toBe(untouched);
    expect(await lab.stations()).toEqual([]);
  });

  test('is kept by a user with one capability, and names are resolved by one with none', async () => {
    const driver = await statusOf(lab.driver.pid);
    expect(driver).toEqual({
      Uid: `${USER_ID}`,
      ...{ CapInh: NET_ADMIN_ALONE, CapPrm: NET_ADMIN_ALONE, CapEff: NET_ADMIN_ALONE },
      ...{ CapBnd: NET_ADMIN_ALONE, CapAmb: NET_ADMIN_ALONE },
    });
    const [helper = ''] = await childrenNamed('atoll-netlink');
    expect(await statusOf(Number(helper))).toEqual(driver);
    const [nameServer = ''] = await childrenNamed('dnsmasq');
    const { CapEff, CapPrm, CapAmb, CapInh, Uid } = await statusOf(Number(nameServer));
    expect({ CapEff, CapPrm, CapAmb, CapInh, Uid }).toEqual({
      ...{ CapEff: NOTHING, CapPrm: NOTHING, CapAmb: NOTHING, CapInh: NOTHING },
      Uid: `${USER_ID}`,
    });
  });
});

/** A process's user and capabilities, as proc(5) has them. */
async function statusOf(pid: number): Promise<Record<string, string>> {
  const lines = (await readFile(`/proc/${pid}/status`, 'utf8'))
    .split('\n')
    .map((line) => line.split(/:?\s+/));
  return Object.fromEntries(
    lines.flatMap(([key = '', value = '']) => (/^(Uid|Cap\w+)$/.test(key) ? [[key, value]] : [])),
  );
}

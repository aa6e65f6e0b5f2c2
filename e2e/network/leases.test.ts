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

  const lease = async () => (await lab.driver.call('lease')) as Lease;
  const takeAll = () => Promise.all(Array.from({ length: SIZE }, lease));
  /** The policies in force: a chain without rules is that of no lease. */
  const policies = async () => (await lab.rules()).match(/chain egress-\d+ {\n\t\t[^}]+/g) ?? [];

  test('leaves the rules as they were, byte for byte, after every device was leased five times over', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const leases = await takeAll();
      expect(new Set(leases.map(({ tap }) => tap)).size).toBe(SIZE);
      expect(new Set(leases.map(({ mac, address }) => `${mac} ${address}`)).size).toBe(SIZE);
      await Promise.all(leases.map((each, n) => lab.applyEgress(each, policyOf(n))));
      expect(await policies()).toHaveLength(SIZE);
      await expect(lease()).rejects.toThrow('NetworkExhausted');
      await Promise.all(leases.map((each) => lab.driver.call('release', { lease: each })));
      expect(await lab.rules()).toBe(untouched);
    }
  });

  test('of a driver that was killed in the middle is whole after the next start, but for what is held', async () => {
    const leases = await takeAll();
    const held = leases.slice(0, 2).map((each, n) => ({ lease: each, egress: policyOf(n) }));
    for (const { lease: each, egress } of held) await lab.applyEgress(each, egress);
    const before = (await policies()).toSorted();
    const underWay = leases.slice(2, 12).map((each, n) => lab.applyEgress(each, policyOf(n)));
    await lab.driver.kill();
    await Promise.allSettled(underWay);
    await lab.startDriver();
    expect(await lab.driver.call('reclaim', { held })).toEqual([]);
    expect((await policies()).toSorted()).toEqual(before);
    const free = await Promise.all(Array.from({ length: SIZE - held.length }, lease));
    await expect(lease()).rejects.toThrow('NetworkExhausted');
    expect(free.filter(({ slot }) => held.some((each) => each.lease.slot === slot))).toEqual([]);
    const all = [...free, ...held.map((each) => each.lease)];
    await Promise.all(all.map((each) => lab.driver.call('release', { lease: each })));
    expect(await lab.rules()).toBe(untouched);
  });

  test('gives the next holder of an address none of the last one’s connections', async () => {
    const [guest] = await lab.addGuests(1);
    if (guest === undefined) throw new Error('no guest');
    await guest.udp(OUTSIDE[0], 7000);
    const tracked = () => lab.host('conntrack', '-L', '-s', guest.lease.address);
    expect(await tracked()).toContain(OUTSIDE[0]);
    await lab.driver.call('release', { lease: guest.lease });
    expect(await tracked()).toBe('');
  });

  test('is kept by a user with one capability, and names are resolved by one with none', async () => {
    const driver = await statusOf(lab.driver.pid);
    expect(driver).toEqual({
      Uid: `${USER_ID}`,
      ...{ CapInh: NET_ADMIN_ALONE, CapPrm: NET_ADMIN_ALONE, CapEff: NET_ADMIN_ALONE },
      ...{ CapBnd: NET_ADMIN_ALONE, CapAmb: NET_ADMIN_ALONE },
    });
    const children = await lab.host('cat', `/proc/${lab.driver.pid}/task/${lab.driver.pid}/children`);
    const [nameServer = ''] = children.trim().split(' ');
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

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reaches } from './guest.ts';
import type { Guest, Policy } from './guest.ts';
import { GATEWAY, Lab } from './lab.ts';
import { NAME, OUTSIDE } from './outside.ts';

const [FIRST, SECOND] = OUTSIDE;
const [ELSEWHERE, AROUND, EVERYTHING] = ['192.0.2.128/25', '198.51.100.0/24', '0.0.0.0/0'];
const EXACT = `${FIRST}/32`;

/** What a policy says of the first host outside, and of the second, which no list but `EVERYTHING` names. */
type Row = readonly [Policy['mode'], allow: string[], deny: string[], first: boolean, second: boolean];
const TRUTH: readonly Row[] = [
  ['allow_all', [], [], true, true],
  ['allow_all', [EXACT], [], true, true],
  ['allow_all', [], [EXACT], false, true],
  ['allow_all', [EXACT], [EXACT], false, true],
  ['deny_all', [], [], false, false],
  ['deny_all', [EXACT], [], true, false],
  ['deny_all', [], [EXACT], false, false],
  ['deny_all', [EXACT], [EXACT], false, false],
  ['allow_all', [EXACT], [AROUND], false, true],
  ['allow_all', [AROUND], [EXACT], false, true],
  ['deny_all', [EXACT], [AROUND], false, false],
  ['deny_all', [AROUND], [EXACT], false, false],
  ['deny_all', [AROUND, EXACT, ELSEWHERE], [], true, false],
  ['allow_all', [], [EVERYTHING], false, false],
  ['deny_all', [EVERYTHING], [], true, true],
  ['deny_all', [EVERYTHING], [AROUND], false, true],
];

async function passes(guest: Guest, host: string): Promise<boolean[]> {
  return Promise.all([
    reaches(guest.tcp(host, 7000)),
    reaches(guest.udp(host, 7000)),
    reaches(guest.icmp(host)),
  ]);
}

describe('an egress policy', () => {
  let lab: Lab;
  let guests: Guest[];
  beforeAll(async () => {
    lab = await Lab.create({ poolSize: TRUTH.length + 1 });
    guests = await lab.addGuests(TRUTH.length);
  });
  afterAll(() => lab[Symbol.asyncDispose]());

  test('denies what is denied, else allows what is allowed, else does as its mode says; names always resolve', async () => {
    const found = await Promise.all(
      TRUTH.map(async ([mode, allowCidrs, denyCidrs], n) => {
        const guest = guests[n];
        if (guest === undefined) throw new Error('too few guests');
        await lab.open(guest.lease, { mode, allowCidrs, denyCidrs });
        const [first, second, [names]] = await Promise.all([
          passes(guest, FIRST),
          passes(guest, SECOND),
          guest.resolve(GATEWAY, NAME),
        ]);
        return { mode, allowCidrs, denyCidrs, first, second, names };
      }),
    );
    expect(found).toEqual(
      TRUTH.map(([mode, allowCidrs, denyCidrs, first, second]) => ({
        ...{ mode, allowCidrs, denyCidrs, names: [FIRST] },
        ...{ first: [first, first, first], second: [second, second, second] },
      })),
    );
  });

  test('is in force at once when it changes, and the same again changes nothing', async () => {
    const [guest] = guests;
    if (guest === undefined) throw new Error('too few guests');
    const closed: Policy = { mode: 'allow_all', allowCidrs: [], denyCidrs: [AROUND, EXACT] };
    await lab.open(guest.lease);
    expect(await passes(guest, FIRST)).toEqual([true, true, true]);
    await lab.open(guest.lease, closed);
    expect(await passes(guest, FIRST)).toEqual([false, false, false]);
    const rules = await lab.host('nft', 'list', 'ruleset');
    await lab.open(guest.lease, closed);
    expect(await lab.host('nft', 'list', 'ruleset')).toBe(rules);
    await lab.open(guest.lease);
    expect(await passes(guest, FIRST)).toEqual([true, true, true]);
  });

  test('of five thousand networks goes into force in one step, once all of it is there', async () => {
    const [guest] = guests;
    if (guest === undefined) throw new Error('too few guests');
    const denyCidrs = Array.from({ length: 4999 }, (_, n) => `172.${16 + (n >> 8)}.${n & 255}.128/25`);
    const log = lab.host('sh', '-c', 'timeout 4 nft monitor || true');
    await new Promise((resolve) => setTimeout(resolve, 500));
    const started = performance.now();
    await lab.open(guest.lease, {
      mode: 'allow_all',
      allowCidrs: [],
      denyCidrs: [...denyCidrs, EXACT],
    });
    console.log(`5,000 networks: ${Math.round(performance.now() - started)} ms`);
    const [lists, entry, ...others] = (await log).split(/^# new generation.*$/gm);
    expect(lists).not.toContain('element');
    expect(entry).toMatch(/^add element inet atoll0 policies .* jump egress-/m);
    expect(others.join('').trim()).toBe('');
    expect(await passes(guest, FIRST)).toEqual([false, false, false]);
    expect(await passes(guest, SECOND)).toEqual([true, true, true]);
    const listed = await lab.host(
      'nft',
      'list',
      'chain',
      'inet',
      'atoll0',
      guest.lease.tap.replace('atoll', 'egress'),
    );
    expect(listed.match(/\/25/g)).toHaveLength(4999);
    await lab.open(guest.lease);
  });

  test('is missing on a lease that is not open, and then nothing passes at all', async () => {
    const guest = await lab.addGuest();
    expect(await passes(guest, FIRST)).toEqual([false, false, false]);
    expect(await reaches(guest.resolve(GATEWAY, NAME))).toBe(false);
    expect(await reaches(guest.icmp(GATEWAY))).toBe(false);
  });
});

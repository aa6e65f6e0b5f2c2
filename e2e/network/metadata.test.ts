import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Guest } from './guest.ts';
import { Lab, METADATA } from './lab.ts';

const GUESTS = 20;
const JSON_ONLY = { Accept: 'application/json' };

const tokenOf = async (guest: Guest, seconds = 60) => {
  const headers = { 'X-metadata-token-ttl-seconds': String(seconds) };
  return (await guest.web(METADATA, '/latest/api/token', { method: 'PUT', headers })).body;
};
const read = (guest: Guest, token: string, headers: Record<string, string> = JSON_ONLY) =>
  guest.web(METADATA, '/', { headers: { 'X-metadata-token': token, ...headers } });

describe('the metadata service', () => {
  let lab: Lab;
  let guests: Guest[];
  const identity = (n: number) => ({ id: `id-${n}`, name: `guest-${n}`, tags: { number: String(n) } });
  beforeAll(async () => {
    lab = await Lab.create({ poolSize: GUESTS });
    guests = await lab.addGuests(GUESTS);
    for (const [n, { lease }] of guests.entries())
      await lab.driver.call('identify', { address: lease.address, identity: identity(n) });
  });
  afterAll(() => lab[Symbol.asyncDispose]());

  test('tells each of twenty that ask at once about itself', async () => {
    const documents = await Promise.all(
      guests.map(async (guest) => JSON.parse((await read(guest, await tokenOf(guest))).body) as unknown),
    );
    expect(documents).toEqual(guests.map((_, n) => identity(n)));
  });

  test('takes no token of another, none that has expired, and asks for one', async () => {
    const [first, second] = guests;
    if (first === undefined || second === undefined) throw new Error('too few guests');
    const [token, brief] = [await tokenOf(first), await tokenOf(first, 1)];
    expect((await read(first, brief)).status).toBe(200);
    expect((await read(second, token)).status).toBe(401);
    expect((await read(first, 'wrong')).status).toBe(401);
    expect((await first.web(METADATA, '/')).status).toBe(401);
    await new Promise((resolve) => setTimeout(resolve, 1100));
    expect((await read(first, brief)).status).toBe(401);
    expect((await read(first, token, {})).body).toBe('id\nname\ntags');
  });

  test('tells a guest its new name when it gets one', async () => {
    const [guest] = guests;
    if (guest === undefined) throw new Error('too few guests');
    const renamed = { ...identity(0), name: 'renamed' };
    await lab.driver.call('identify', { address: guest.lease.address, identity: renamed });
    expect(JSON.parse((await read(guest, await tokenOf(guest))).body)).toEqual(renamed);
  });
});

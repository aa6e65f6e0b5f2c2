import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { octets, syn } from './frames.ts';
import { reaches } from './guest.ts';
import type { Guest, Lease, Policy } from './guest.ts';
import { asUser, GATEWAY, GATEWAY_MAC, Lab, METADATA, USER_ID } from './lab.ts';
import { NAME, OUTSIDE, UPLINK_ADDRESSES } from './outside.ts';

const [FIRST, SECOND] = OUTSIDE;
const PORT = 7000;
const onlyTo = (address: string): Policy => ({
  ...{ mode: 'deny_all', allowCidrs: [`${address}/32`], denyCidrs: [] },
});

/** A program that sends a packet to each, the first of a connection: the daemon's user may send no other to a guest. */
function sendTo(...addresses: string[]): string {
  return `
import time
callers = [socket.socket() for _ in range(${addresses.length})]
for caller, address in zip(callers, ${JSON.stringify(addresses)}):
    caller.setblocking(False)
    caller.connect_ex((address, ${PORT}))
time.sleep(0.5)`;
}

/** The identity of an address in the guests' network. */
function identityOf(address: string) {
  const octets = address.split('.').map((octet) => Number(octet).toString(16).padStart(2, '0'));
  return { mac: `02:00:${octets.join(':')}`, address, prefixLength: 16, gateway: GATEWAY };
}

describe('an identity', () => {
  let lab: Lab;
  beforeAll(async () => {
    // More than there are guests: a device stays with its first guest's program.
    lab = await Lab.create({ poolSize: 12 });
  });
  afterAll(() => lab[Symbol.asyncDispose]());

  const attach = async (address: string): Promise<Lease> => {
    await lab.driver.call('hold', { identity: identityOf(address) });
    return (await lab.driver.call('attach', { identity: identityOf(address) })) as Lease;
  };
  const passes = (guest: Guest) =>
    Promise.all([FIRST, SECOND].map((address) => reaches(guest.tcp(address, PORT))));
  /** All that a guest can do where the host listens to it. */
  const isHeard = (guest: Guest) =>
    Promise.all([
      reaches(guest.tcp(FIRST, PORT)),
      reaches(guest.icmp(GATEWAY)),
      reaches(guest.resolve(GATEWAY, NAME)),
      reaches(guest.web(METADATA, '/')),
    ]);
  const [HEARD, UNHEARD] = [Array(4).fill(true), Array(4).fill(false)];

  test('of the last address of the network is as good as that of the first', async () => {
    const guest = await lab.addGuest(await attach('10.213.255.254'));
    await lab.open(guest.lease);
    expect(await isHeard(guest)).toEqual(HEARD);
    expect(await guest.tcp(FIRST, PORT)).toBe(UPLINK_ADDRESSES[0]);
    await lab.end(guest.lease);
  });

  test('has its own policy beside others whose addresses end alike, while these come and go', async () => {
    const guests = await Promise.all(
      ['10.213.7.9', '10.213.8.9', '10.213.9.9'].map(async (address) => lab.addGuest(await attach(address))),
    );
    const [one, two, three] = guests as [Guest, Guest, Guest];
    await Promise.all([lab.open(one.lease, onlyTo(FIRST)), lab.open(two.lease, onlyTo(SECOND))]);
    expect(await Promise.all(guests.map(passes))).toEqual([
      [true, false],
      [false, true],
      [false, false],
    ]);
    await lab.driver.call('detach', { lease: one.lease });
    await lab.open(three.lease);
    // It has asked for the gateway in vain, and asks again after a while.
    await expect.poll(() => passes(three)).toEqual([true, true]);
    expect(await Promise.all(guests.map(passes))).toEqual([
      [false, false],
      [false, true],
      [true, true],
    ]);
    await lab.driver.call('release', { identity: one.lease });
    await Promise.all([two, three].map(({ lease }) => lab.end(lease)));
  });

  test('is all that is brought to its device, whatever the host believes', async () => {
    const guest = await lab.addGuest(await attach('10.213.30.1'));
    await lab.open(guest.lease);
    const [believed, mac] = ['10.213.30.2', '02:00:0a:d5:1e:02'];
    await lab.host('ip', 'neighbour', 'replace', believed, 'lladdr', guest.lease.mac, 'dev', 'atoll0');
    await lab.host('bridge', 'fdb', 'replace', mac, 'dev', guest.lease.tap, 'master', 'static');
    await lab.host('ip', 'neighbour', 'replace', '10.213.30.3', 'lladdr', mac, 'dev', 'atoll0');
    const heard = guest.capture(3);
    await new Promise((resolve) => setTimeout(resolve, 300));
    // It does hear what is for it.
    await lab.host(...asUser(USER_ID, sendTo(believed, '10.213.30.3', guest.lease.address)));
    const packets = (await heard).filter((frame) => frame.slice(24, 28) === '0800');
    const targets = packets.map((frame) => frame.slice(60, 68));
    expect(targets).toEqual([octets(guest.lease.address)]);
    await lab.host('bridge', 'fdb', 'delete', mac, 'dev', guest.lease.tap, 'master', 'static');
    await lab.end(guest.lease);
  });

  test('that left its device is not heard there any more, nor is anything brought to it', async () => {
    const stale = await lab.addGuest(await attach('10.213.20.1'));
    await lab.open(stale.lease);
    expect(await isHeard(stale)).toEqual(HEARD);
    await lab.driver.call('detach', { lease: stale.lease });
    expect(await isHeard(stale)).toEqual(UNHEARD);

    // The same device for another, the same identity on another device.
    const others: Lease[] = [];
    do others.push((await lab.driver.call('lease')) as Lease);
    while (others.at(-1)?.tap !== stale.lease.tap);
    const next = others.pop();
    if (next === undefined) throw new Error('the device did not come again');
    for (const lease of others) await lab.end(lease);
    await lab.open(next, onlyTo(SECOND));
    expect(await isHeard(stale)).toEqual(UNHEARD);
    const moved = await lab.addGuest(await attach(stale.lease.address));
    expect(moved.lease.tap).not.toBe(stale.lease.tap);
    await lab.open(moved.lease);
    expect(await isHeard(moved)).toEqual(HEARD);
    const heard = stale.capture(2);
    const { mac, address } = stale.lease;
    await stale.sendFrames(syn({ to: GATEWAY_MAC, from: mac, source: address, target: METADATA }, 80));
    expect(await isHeard(moved)).toEqual(HEARD);
    expect(await heard).toEqual([]);

    // Who becomes the one that the device is for now has the policy of that one.
    await stale.run('ip', 'link', 'set', 'eth0', 'address', next.mac);
    await stale.run('ip', 'address', 'flush', 'dev', 'eth0');
    await stale.run('ip', 'address', 'add', `${next.address}/16`, 'dev', 'eth0');
    await stale.run('ip', 'route', 'replace', 'default', 'via', GATEWAY);
    expect(await passes(stale)).toEqual([false, true]);
  });
});

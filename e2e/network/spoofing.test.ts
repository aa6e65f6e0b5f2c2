import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { arp, ethernet, frame, syn } from './frames.ts';
import { reaches } from './guest.ts';
import type { Guest } from './guest.ts';
import { GATEWAY, GATEWAY_MAC, Lab, METADATA } from './lab.ts';
import { OUTSIDE } from './outside.ts';

const BROADCAST = 'ff:ff:ff:ff:ff:ff';
const STRANGER = { mac: '02:00:00:00:00:99', address: '10.213.0.99' };

describe('a guest that lies', () => {
  let lab: Lab;
  let liar: Guest;
  let victim: Guest;
  beforeAll(async () => {
    lab = await Lab.create();
    const [first, second] = await lab.addGuests(2);
    if (first === undefined || second === undefined) throw new Error('too few guests');
    [liar, victim] = [first, second];
    const chain = 'add chain inet tally in { type filter hook prerouting priority 0; }';
    await lab.outside.run(
      'nft',
      `add table inet tally; ${chain}; add rule inet tally in iifname out0 meta nfproto ipv4 counter`,
    );
  });
  afterAll(() => lab[Symbol.asyncDispose]());

  /** What the host believes of who is where. */
  const beliefs = async () =>
    (
      await Promise.all([
        lab.host('bridge', 'fdb', 'show', 'br', 'atoll0'),
        lab.host('ip', 'neighbour', 'show', 'dev', 'atoll0'),
      ])
    ).map((text) => text.split('\n').toSorted());

  // Both stand well before each lie, or the lie proves nothing.
  beforeEach(async () => {
    for (const guest of [liar, victim]) expect(await guest.icmp(OUTSIDE[0])).toBe(OUTSIDE[0]);
  });

  /** IPv4 packets that came out of the uplink. */
  const packetsOutside = async () =>
    Number(/packets (\d+)/.exec(await lab.outside.run('nft', 'list', 'chain', 'inet', 'tally', 'in'))?.[1]);

  /** What the victim heard of it, and how many packets the outside got. */
  async function consequences(...frames: string[]): Promise<{ heard: string[]; outside: number }> {
    const before = await packetsOutside();
    const heard = victim.capture(1);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await liar.sendFrames(...frames);
    return { heard: await heard, outside: (await packetsOutside()) - before };
  }
  const NOTHING = { heard: [], outside: 0 };

  test('is heard when it tells the truth: the test would notice', async () => {
    const { mac, address } = liar.lease;
    const honest = frame({ to: GATEWAY_MAC, from: mac, source: address, target: OUTSIDE[0] });
    expect(await consequences(honest)).toEqual({ heard: [], outside: 1 });
  });

  test('about its MAC is not heard', async () => {
    const { address, mac } = liar.lease;
    await liar.run('ip', 'link', 'set', 'eth0', 'address', STRANGER.mac);
    expect(await reaches(liar.icmp(GATEWAY))).toBe(false);
    expect(await reaches(liar.icmp(OUTSIDE[0]))).toBe(false);
    await liar.run('ip', 'link', 'set', 'eth0', 'address', mac);
    const forged = [STRANGER.mac, victim.lease.mac, GATEWAY_MAC].map((from) =>
      frame({ to: GATEWAY_MAC, from, source: address, target: OUTSIDE[0] }),
    );
    expect(await consequences(...forged)).toEqual(NOTHING);
  });

  test('about its address is not heard', async () => {
    const { mac } = liar.lease;
    await liar.run('ip', 'address', 'add', `${STRANGER.address}/16`, 'dev', 'eth0');
    expect(await reaches(liar.icmp(OUTSIDE[0], STRANGER.address))).toBe(false);
    await liar.run('ip', 'address', 'delete', `${STRANGER.address}/16`, 'dev', 'eth0');
    const sources = [STRANGER.address, victim.lease.address, GATEWAY, '127.0.0.1', OUTSIDE[1], '0.0.0.0'];
    const forged = sources.map((source) => frame({ to: GATEWAY_MAC, from: mac, source, target: OUTSIDE[0] }));
    expect(await consequences(...forged)).toEqual(NOTHING);
  });

  test('about another’s MAC and address at once is not heard', async () => {
    const { mac, address } = victim.lease;
    expect(
      await consequences(
        frame({ to: GATEWAY_MAC, from: mac, source: address, target: OUTSIDE[0] }),
        syn({ to: GATEWAY_MAC, from: mac, source: address, target: METADATA }, 80),
        syn({ to: GATEWAY_MAC, from: liar.lease.mac, source: address, target: METADATA }, 80),
      ),
    ).toEqual(NOTHING);
  });

  test('about who has the gateway’s or another’s address changes nobody’s mind', async () => {
    const before = await beliefs();
    const known = await victim.run('ip', 'neighbour', 'show', GATEWAY);
    expect(known).toContain(GATEWAY_MAC);
    const from = liar.lease.mac;
    const forged = [GATEWAY, victim.lease.address, STRANGER.address].flatMap((sender) =>
      [BROADCAST, GATEWAY_MAC, victim.lease.mac].flatMap((to) =>
        (['request', 'reply'] as const).flatMap((kind) =>
          [sender, GATEWAY].map((target) => arp({ to, from, kind, senderMac: from, sender, target })),
        ),
      ),
    );
    expect(await consequences(...forged)).toEqual(NOTHING);
    expect(await beliefs()).toEqual(before);
    expect(await victim.run('ip', 'neighbour', 'show', GATEWAY)).toContain(GATEWAY_MAC);
  });

  test('in the body of ARP alone changes nobody’s mind either', async () => {
    const before = await beliefs();
    const { mac, address } = liar.lease;
    const common = { to: GATEWAY_MAC, kind: 'reply', target: GATEWAY } as const;
    await liar.sendFrames(
      arp({ ...common, from: mac, senderMac: victim.lease.mac, sender: address }),
      arp({ ...common, from: mac, senderMac: GATEWAY_MAC, sender: GATEWAY }),
      arp({ ...common, from: STRANGER.mac, senderMac: mac, sender: address }),
    );
    expect(await beliefs()).toEqual(before);
  });

  test('in frames that no bridge passes on does not draw another’s traffic to itself', async () => {
    const before = await beliefs();
    const payload = '00'.repeat(60);
    const linkLocal = ['01:80:c2:00:00:00', '01:80:c2:00:00:03', '01:80:c2:00:00:0e'];
    await liar.sendFrames(...linkLocal.map((to) => ethernet(to, victim.lease.mac, '88cc', payload)));
    expect(await beliefs()).toEqual(before);
    expect(await victim.icmp(GATEWAY)).toBe(GATEWAY);
  });
});

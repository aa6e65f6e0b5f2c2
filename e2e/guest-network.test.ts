import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Daemon } from './harness/daemon.ts';
import { addressesWithPolicy } from './harness/host.ts';
import { until } from './harness/poll.ts';
import { listSandboxes } from './harness/sandbox.ts';
import { arp, frame, senderOf } from './network/frames.ts';
import { reaches } from './network/guest.ts';
import { NAME, Outside, OUTSIDE, UPLINK_ADDRESSES } from './network/outside.ts';
import { SandboxGuest } from './network/sandbox-guest.ts';

const execute = promisify(execFile);
const [FIRST, SECOND] = OUTSIDE;
const [UPLINK] = UPLINK_ADDRESSES;
const GATEWAY = '10.213.0.1';
const GATEWAY_MAC = '02:00:0a:d5:00:01';
const BROADCAST = 'ff:ff:ff:ff:ff:ff';
const PORT = 7000;

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let one: SandboxGuest;
let two: SandboxGuest;

beforeAll(async () => {
  const outside = stack.use(await Outside.attach(`atoll-test-${process.pid}-out`));
  await outside.serve();
  await writeFile('/etc/resolv.conf', `nameserver ${FIRST}\n`);
  // The uplink has come after the set-up.
  await execute(process.execPath, ['host/network/setup.ts']);
  // The API is where guests would find it, if they could.
  daemon = stack.use(await Daemon.start({ SERVICE_LISTEN_ADDR: '0.0.0.0:0' }));
  [one, two] = await Promise.all([SandboxGuest.create(daemon.client), SandboxGuest.create(daemon.client)]);
  stack.use(one);
  stack.use(two);
});
afterAll(() => stack.disposeAsync());

const ways = (from: SandboxGuest, host: string) =>
  Promise.all([reaches(from.tcp(host, PORT)), reaches(from.udp(host, PORT)), reaches(from.icmp(host))]);
const [OPEN, CLOSED] = [
  [true, true, true],
  [false, false, false],
];

describe('a sandbox and the outside', () => {
  it('gets out by TCP, UDP and ICMP, under the address of the host', async () => {
    expect(await one.tcp(FIRST, PORT)).toBe(UPLINK);
    expect(await one.udp(SECOND, PORT)).toBe(UPLINK);
    expect(await one.icmp(FIRST)).toBe(FIRST);
    expect(await one.sandbox.sh(`curl -s http://${SECOND}/`)).toBe(UPLINK);
  });

  it('resolves names with nothing but its own C library', async () => {
    expect(await one.sandbox.sh('cat /etc/resolv.conf')).toBe(`nameserver ${GATEWAY}`);
    expect(await one.sandbox.sh(`getent ahosts ${NAME} | cut -d' ' -f1 | sort -u`)).toBe(FIRST);
    expect(await one.sandbox.sh(`curl -s -4 http://${NAME}/`)).toBe(UPLINK);
  });
});

describe('a sandbox and its neighbour', () => {
  it('do not reach each other over IPv4, ARP included', async () => {
    await two.sandbox.sh(`nohup python3 -c '${ANSWER}' >/dev/null 2>&1 &`);
    await expect.poll(() => reaches(two.tcp(two.lease.address, PORT))).toBe(true);
    expect(await ways(one, two.lease.address)).toEqual(CLOSED);
    await one.sandbox.sh(`ip neigh replace ${two.lease.address} lladdr ${two.lease.mac} dev eth0`);
    expect(await ways(one, two.lease.address)).toEqual(CLOSED);
    await one.sandbox.sh(`ip neigh del ${two.lease.address} dev eth0`);
  });

  it('do not reach each other over IPv6, which root in a guest may turn on', async () => {
    for (const [guest, address] of [
      [one, 'fd00::1'],
      [two, 'fd00::2'],
    ] as const)
      await guest.sandbox.sh(
        `echo 0 >/proc/sys/net/ipv6/conf/eth0/disable_ipv6; ip address add ${address}/64 dev eth0 nodad`,
      );
    expect(await two.tcp('fd00::2', PORT)).toBe('reached');
    expect(await reaches(one.tcp('fd00::2', PORT))).toBe(false);
    expect(await reaches(one.udp('ff02::1%eth0', PORT))).toBe(false);
  });

  it('do not hear each other’s lies: a forged MAC, a forged address, the gateway’s own', async () => {
    const { mac, address } = one.lease;
    const victim = two.lease;
    const captured = two.capture(30, 2);
    const listens = async () => (await two.sandbox.sh('wc -l </proc/net/packet')) !== '1';
    await until('it listens to its card', listens, 20_000);
    // Heard before the lies and after them, the gateway shows that the capture would have heard them.
    expect(await two.icmp(GATEWAY)).toBe(GATEWAY);
    await one.sendFrames(
      arp({ to: BROADCAST, from: mac, kind: 'reply', senderMac: mac, sender: GATEWAY, target: GATEWAY }),
      arp({
        to: victim.mac,
        from: mac,
        kind: 'reply',
        senderMac: mac,
        sender: GATEWAY,
        target: victim.address,
      }),
      arp({
        to: GATEWAY_MAC,
        from: mac,
        kind: 'reply',
        senderMac: mac,
        sender: victim.address,
        target: GATEWAY,
      }),
      frame({ to: GATEWAY_MAC, from: victim.mac, source: address, target: FIRST }),
      frame({ to: GATEWAY_MAC, from: mac, source: victim.address, target: FIRST }),
      frame({ to: BROADCAST, from: mac, source: address, target: '224.0.0.251' }),
    );
    expect(await two.icmp(GATEWAY)).toBe(GATEWAY);
    const heard = (await captured).map(senderOf);
    expect(new Set(heard.map(({ mac }) => mac))).toEqual(new Set([GATEWAY_MAC]));
    // An answer to either forgery would come to the victim, from beyond the gateway.
    const packets = heard.filter((from) => from.address !== undefined);
    expect(packets.map((from) => from.address)).toEqual([GATEWAY, GATEWAY]);
    expect(await ways(two, FIRST)).toEqual(OPEN);
    expect(await ways(one, FIRST)).toEqual(OPEN);
  });
});

describe('a sandbox and its host', () => {
  it('does not reach the API, nor any other port, on any address of the host', async () => {
    const port = Number(new URL(daemon.url).port);
    for (const host of [GATEWAY, ...UPLINK_ADDRESSES]) {
      expect(await (await fetch(`http://${host}:${port}/healthz`)).text()).toBe('ok');
      expect(await reaches(one.tcp(host, port))).toBe(false);
    }
    expect(await reaches(one.icmp(UPLINK))).toBe(false);
    expect(await one.icmp(GATEWAY)).toBe(GATEWAY);
  });
});

describe('egress', () => {
  it('is closed under deny_all, except for what is allowed, and names still resolve', async () => {
    const egress = { mode: 'deny_all', allow_cidrs: [`${SECOND}/32`] } as const;
    await using guest = await SandboxGuest.create(daemon.client, { name: 'closed', egress });
    expect(await ways(guest, FIRST)).toEqual(CLOSED);
    expect(await ways(guest, SECOND)).toEqual(OPEN);
    expect((await guest.resolve(GATEWAY, NAME))[0]).toEqual([FIRST]);
    const [item] = (await listSandboxes(daemon.client)).filter(({ name }) => name === 'closed');
    expect(item?.egress).toEqual({ ...egress, deny_cidrs: [] });
  });

  it('takes 5,000 networks, deny first', async () => {
    const networks = Array.from({ length: 4999 }, (_, n) => `172.${16 + (n >> 8)}.${n & 255}.128/25`);
    const deny_cidrs = [...networks, `${FIRST}/32`];
    const egress = { mode: 'allow_all', allow_cidrs: ['0.0.0.0/0'], deny_cidrs } as const;
    await using guest = await SandboxGuest.create(daemon.client, { egress });
    expect(await ways(guest, FIRST)).toEqual(CLOSED);
    expect(await ways(guest, SECOND)).toEqual(OPEN);
  });

  it('is gone with its sandbox, and its time is in the metrics', async () => {
    expect(await addressesWithPolicy()).toHaveLength(2);
    const { text } = await daemon.client.call('GET', '/metrics');
    for (const phase of ['network_lease', 'egress_apply'])
      expect(text).toMatch(new RegExp(`create_phase_duration_ms_count\\{phase="${phase}"\\} 4`));
  });
});

/** Answers "reached" on a port of all addresses, TCP and UDP, for a minute. */
const ANSWER = `
import sys, time
sys.path.insert(0, "/root")
import guest
guest.listen(${PORT})
time.sleep(60)
`;

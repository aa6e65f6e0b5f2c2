import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { arp, ethernet, frame, octets } from './frames.ts';
import { reaches } from './guest.ts';
import type { Guest } from './guest.ts';
import { asUser, GATEWAY, GATEWAY_MAC, HOST_ADDRESSES, Lab, METADATA, USER_ID } from './lab.ts';
import { OUTSIDE } from './outside.ts';

const PORT = 7000;
// Of those that the kernel gives to who connects.
const EPHEMERAL_PORT = 40_000;
const SOON_MS = 10_000;
const ROOT = 0;
const NOBODY = 65_534;
const BROADCAST = 'ff:ff:ff:ff:ff:ff';

/** A program that connects to a port and prints what it is told there. */
function knockAt(address: string, port = PORT): string {
  return `import socket; print(socket.create_connection(("${address}", ${port}), 1).recv(99))`;
}

/** A program that sends a packet to a port. */
function sendTo(address: string): string {
  return `import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("${address}", ${PORT}))`;
}

/** A program that keeps a connection to a guest open, and answers whoever comes to the next port, on both transports. */
function holdAndListen(address: string): string {
  return `
import socket, threading
held = socket.create_connection(("${address}", ${PORT + 1}), 5, ("${GATEWAY}", ${EPHEMERAL_PORT}))
server = socket.create_server(("${GATEWAY}", ${EPHEMERAL_PORT + 1}))
def answer():
    packets = socket.socket(type=socket.SOCK_DGRAM)
    packets.bind(("${GATEWAY}", ${EPHEMERAL_PORT + 1}))
    while True:
        packets.sendto(b"host", packets.recvfrom(99)[1])
threading.Thread(target=answer, daemon=True).start()
print("ready", flush=True)
while True:
    with server.accept()[0] as connection:
        connection.sendall(b"host")
`;
}

describe('a guest', () => {
  let lab: Lab;
  let guest: Guest;
  let neighbour: Guest;
  beforeAll(async () => {
    lab = await Lab.create();
    const [first, second] = await lab.addGuests(2);
    if (first === undefined || second === undefined) throw new Error('too few guests');
    [guest, neighbour] = [first, second];
    await neighbour.listen(PORT);
    await lab.serveHost([GATEWAY, ...HOST_ADDRESSES]);
    await guest.run('ip', 'address', 'add', 'fd00::1/64', 'dev', 'eth0', 'nodad');
    await neighbour.run('ip', 'address', 'add', 'fd00::2/64', 'dev', 'eth0', 'nodad');
  });
  afterAll(() => lab[Symbol.asyncDispose]());

  const ways = (host: string) =>
    Promise.all([reaches(guest.tcp(host, PORT)), reaches(guest.udp(host, PORT)), reaches(guest.icmp(host))]);
  const CLOSED = [false, false, false];

  test('answers itself where its neighbour should not: the test would notice', async () => {
    expect(await neighbour.tcp(neighbour.lease.address, PORT)).toBe('reached');
    expect(await neighbour.udp('fd00::2', PORT)).toBe('reached');
  });

  test('does not reach another over IPv4: directly, knowing its MAC, or by way of the gateway', async () => {
    const { address, mac } = neighbour.lease;
    expect(await ways(address)).toEqual(CLOSED);
    await guest.run('ip', 'neighbour', 'replace', address, 'lladdr', mac, 'nud', 'permanent', 'dev', 'eth0');
    expect(await ways(address)).toEqual(CLOSED);
    await guest.run('ip', 'neighbour', 'delete', address, 'dev', 'eth0');
    await guest.run('ip', 'route', 'add', `${address}/32`, 'via', GATEWAY);
    expect(await ways(address)).toEqual(CLOSED);
  });

  test('does not reach another over IPv6', async () => {
    expect(await reaches(guest.tcp('fd00::2', PORT))).toBe(false);
    expect(await reaches(guest.udp('fd00::2', PORT))).toBe(false);
    const { mac } = neighbour.lease;
    await guest.run(
      'ip',
      'neighbour',
      'replace',
      'fd00::2',
      'lladdr',
      mac,
      'nud',
      'permanent',
      'dev',
      'eth0',
    );
    expect(await reaches(guest.udp('fd00::2', PORT))).toBe(false);
  });

  test('is not heard by another, whatever it sends', async () => {
    const { mac, address } = guest.lease;
    const other = neighbour.lease;
    const heard = neighbour.capture(2);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await guest.sendFrames(
      ...[other.mac, BROADCAST].flatMap((to) => [
        arp({ to, from: mac, kind: 'request', senderMac: mac, sender: address, target: other.address }),
        arp({ to, from: mac, kind: 'reply', senderMac: mac, sender: address, target: other.address }),
        frame({ to, from: mac, source: address, target: other.address }),
        frame({ to, from: mac, source: address, target: '255.255.255.255' }),
        ethernet(to, mac, '86dd', '00'.repeat(60)),
        ethernet(to, mac, '88b5', '00'.repeat(60)),
        // A VLAN tag around IPv4.
        ethernet(to, mac, '8100', `00010800${'00'.repeat(60)}`),
      ]),
      frame({ to: GATEWAY_MAC, from: mac, source: address, target: other.address }),
      // mDNS, IPv6 neighbour discovery, LLDP, spanning tree, 802.1X.
      frame({ to: '01:00:5e:00:00:fb', from: mac, source: address, target: '224.0.0.251' }),
      ...['33:33:00:00:00:01', '01:80:c2:00:00:0e', '01:80:c2:00:00:00', '01:80:c2:00:00:03'].map((to) =>
        ethernet(to, mac, to.startsWith('33') ? '86dd' : '88cc', '00'.repeat(60)),
      ),
    );
    // It does hear what is for it.
    await neighbour.icmp(GATEWAY);
    const frames = await heard;
    expect(new Set(frames.map((bytes) => bytes.slice(12, 24)))).toEqual(
      new Set([GATEWAY_MAC.replaceAll(':', '')]),
    );
    expect(frames.filter((bytes) => bytes.includes(octets(address)))).toEqual([]);
  });

  test('reaches no port of the host, on any of its addresses', async () => {
    const found = await Promise.all(
      [GATEWAY, ...HOST_ADDRESSES].flatMap((address) => [
        reaches(guest.tcp(address, PORT)),
        reaches(guest.udp(address, PORT)),
        reaches(guest.web(address, '/')),
      ]),
    );
    expect(found).toEqual(found.map(() => false));
    // They are there for the host itself.
    expect(await lab.host('python3', '-c', knockAt(GATEWAY))).toContain(GATEWAY);
  });

  test('gets an echo from the gateway and from no other address of the host', async () => {
    expect(await guest.icmp(GATEWAY)).toBe(GATEWAY);
    expect(await Promise.all(HOST_ADDRESSES.map((address) => reaches(guest.icmp(address))))).toEqual(CLOSED);
  });

  test('reaches the two services only where they are said to be', async () => {
    expect((await guest.web(METADATA, '/')).status).toBe(404);
    const elsewhere = [
      [GATEWAY, 7753],
      [GATEWAY, 7780],
      [METADATA, 53],
      [METADATA, 443],
      [METADATA, 7780],
      [HOST_ADDRESSES[0], 53],
    ] as const;
    const found = await Promise.all(elsewhere.map(([address, port]) => reaches(guest.tcp(address, port))));
    expect(found).toEqual(found.map(() => false));
  });

  test('reaches no link-local address beyond the host, where a cloud would tell secrets', async () => {
    const secret = '169.254.170.2';
    await lab.outside.run('ip', 'address', 'add', `${secret}/32`, 'dev', 'lo');
    expect(await reaches(guest.icmp(secret))).toBe(false);
  });

  test('hears nothing of the host over IPv6, and the host nothing of it', async () => {
    await lab.host('ip', 'address', 'add', 'fd00:1::1/64', 'dev', 'uplink0', 'nodad');
    await guest.run(
      'ip',
      'neighbour',
      'replace',
      'fd00::ff',
      'lladdr',
      GATEWAY_MAC,
      'nud',
      'permanent',
      'dev',
      'eth0',
    );
    await guest.run('ip', '-6', 'route', 'add', 'default', 'via', 'fd00::ff');
    expect(await reaches(guest.tcp('fd00:1::1', PORT))).toBe(false);
    expect(await lab.host('ip', '-6', 'address', 'show', 'dev', 'atoll0')).toBe('');
  });

  test('is not reached from outside', async () => {
    await lab.outside.run('ip', 'route', 'add', '10.213.0.0/16', 'via', HOST_ADDRESSES[0]);
    await expect(lab.outside.run('python3', '-c', knockAt(neighbour.lease.address))).rejects.toThrow(
      'timed out',
    );
    await lab.outside.run('ip', 'route', 'delete', '10.213.0.0/16');
  });

  test('is reached by no user of the host but the daemon’s, over TCP', async () => {
    const { lease } = neighbour;
    const as = (user: number, program: string) => lab.host(...asUser(user, program));
    const knock = knockAt(lease.address);
    expect(await lab.driver.call('connect', { lease, port: PORT, ms: SOON_MS })).toBe('reached');
    expect(await as(USER_ID, knock)).toContain('reached');
    for (const user of [ROOT, NOBODY]) await expect(as(user, knock)).rejects.toThrow('timed out');
    for (const user of [ROOT, NOBODY, USER_ID])
      await expect(as(user, sendTo(lease.address))).rejects.toThrow('Operation not permitted');
  });

  test('gains no way to the host by a connection from there', async () => {
    await guest.listen(PORT + 1);
    const holder = holdAndListen(guest.lease.address);
    await lab.serve('ready', ...asUser(USER_ID, holder));
    // It is there for the host itself.
    expect(await lab.host('python3', '-c', knockAt(GATEWAY, EPHEMERAL_PORT + 1))).toContain('host');
    for (const port of [EPHEMERAL_PORT, EPHEMERAL_PORT + 1]) {
      expect(await reaches(guest.tcp(GATEWAY, port))).toBe(false);
      expect(await reaches(guest.udp(GATEWAY, port))).toBe(false);
    }
  });

  test('still has the outside after all that', async () => {
    expect(await guest.icmp(OUTSIDE[0])).toBe(OUTSIDE[0]);
  });
});

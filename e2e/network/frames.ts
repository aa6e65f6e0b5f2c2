/** Ethernet frames by hand, in hexadecimal, for guests that lie. */

const bytes = (mac: string) => mac.replaceAll(':', '');
export const octets = (address: string) =>
  address
    .split('.')
    .map((octet) => Number(octet).toString(16).padStart(2, '0'))
    .join('');

export function ethernet(to: string, from: string, type: string, payload: string): string {
  return `${bytes(to)}${bytes(from)}${type}${payload}`;
}

interface Arp {
  readonly to: string;
  readonly from: string;
  readonly kind: 'request' | 'reply';
  readonly senderMac: string;
  readonly sender: string;
  readonly target: string;
}

export function arp({ to, from, kind, senderMac, sender, target }: Arp): string {
  const operation = kind === 'request' ? '0001' : '0002';
  const about = `${bytes(senderMac)}${octets(sender)}${bytes(to)}${octets(target)}`;
  return ethernet(to, from, '0806', `000108000604${operation}${about}${'00'.repeat(18)}`);
}

interface Packet {
  readonly to: string;
  readonly from: string;
  readonly source: string;
  readonly target: string;
}

/** An ICMP echo request over IPv4. */
export function frame({ to, from, source, target }: Packet): string {
  const echo = '0800f7fd00010001';
  return ethernet(to, from, '0800', ipv4(source, target, 1, echo));
}

/** Who sent a frame that was captured, as an Ethernet address, and by IPv4; undefined when it is of another kind. */
export function senderOf(hex: string): { readonly mac: string; readonly address: string | undefined } {
  const mac = (hex.slice(12, 24).match(/../g) ?? []).join(':');
  if (hex.slice(24, 28) !== '0800') return { mac, address: undefined };
  const octetsOf = hex.slice(52, 60).match(/../g) ?? [];
  return { mac, address: octetsOf.map((octet) => parseInt(octet, 16)).join('.') };
}

/** The first packet of a TCP connection. */
export function syn({ to, from, source, target }: Packet, port: number): string {
  const head = `c000${hex16(port)}000000010000000050020400`;
  const pseudo = `${octets(source)}${octets(target)}0006${hex16(20)}`;
  const sum = checksum(`${pseudo}${head}00000000`);
  return ethernet(to, from, '0800', ipv4(source, target, 6, `${head}${hex16(sum)}0000`));
}

function ipv4(source: string, target: string, protocol: number, payload: string): string {
  const length = hex16(20 + payload.length / 2);
  const [start, end] = [
    `4500${length}0001000040${protocol.toString(16).padStart(2, '0')}`,
    octets(source) + octets(target),
  ];
  return `${start}${hex16(checksum(`${start}0000${end}`))}${end}${payload}`;
}

function hex16(value: number): string {
  return value.toString(16).padStart(4, '0');
}

/** The internet checksum (RFC 1071) of a text of 16-bit words. */
function checksum(text: string): number {
  let sum = 0;
  for (const word of text.match(/.{4}/g) ?? []) sum += parseInt(word, 16);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

import type { NetworkIdentity } from '../../ports/network.ts';

/** What the adapter is told; well-formed. */
export interface NetworkSettings {
  readonly bridge: string;
  /** The gateway: the first address of the guests' network, with the length of its prefix. */
  readonly cidr: string;
  readonly tapPrefix: string;
  readonly poolSize: number;
  /** Ports on the gateway's address. Guests see 53 there, and 80 at 169.254.169.254. */
  readonly dnsPort: number;
  readonly metadataPort: number;
}

/** Every name and address of the guests' network: all of them follow from the settings. */
export interface NetworkPlan extends NetworkSettings {
  readonly gateway: string;
  readonly gatewayMac: string;
  readonly prefixLength: number;
  /** The network itself, in CIDR notation. */
  readonly subnet: string;
  /** The devices, by number. */
  readonly taps: readonly string[];
  /** How many identities there are for guests, numbered from 0. */
  readonly identities: number;
}

export function planNetwork(settings: NetworkSettings): NetworkPlan {
  const [gateway = '', length] = settings.cidr.split('/');
  const prefixLength = Number(length);
  return {
    ...settings,
    gateway,
    gatewayMac: macOf(gateway),
    prefixLength,
    subnet: `${dotted(valueOf(gateway) - 1)}/${prefixLength}`,
    taps: Array.from({ length: settings.poolSize }, (_, device) => tapName(settings.tapPrefix, device)),
    // The network's own address, the gateway and the broadcast address are not for guests.
    identities: 2 ** (32 - prefixLength) - 3,
  };
}

/** The identity of a number. */
export function identityAt({ gateway, prefixLength }: NetworkPlan, number: number): NetworkIdentity {
  const address = dotted(valueOf(gateway) + 1 + number);
  return { mac: macOf(address), address, prefixLength, gateway };
}

/** The number of an identity; undefined for one that is not of this network. */
export function numberOf(plan: NetworkPlan, identity: NetworkIdentity): number | undefined {
  const number = valueOf(identity.address) - valueOf(plan.gateway) - 1;
  if (!(number >= 0 && number < plan.identities)) return undefined;
  const { mac, address, prefixLength, gateway } = identityAt(plan, number);
  const isSame =
    identity.mac === mac &&
    identity.address === address &&
    identity.prefixLength === prefixLength &&
    identity.gateway === gateway;
  return isSame ? number : undefined;
}

/** The dash keeps a tap apart from a bridge called like the prefix and a number. */
function tapName(prefix: string, device: number | string): string {
  return `${prefix}-${device}`;
}

/** The name of a device of the pool, by its number. Throws when there is none. */
export function tapOf({ taps }: NetworkPlan, device: number): string {
  const tap = taps[device];
  if (tap === undefined) throw new Error(`there is no network device ${device}`);
  return tap;
}

/** What nft matches every tap by, also one that a smaller pool left over. */
export function tapPattern(prefix: string): string {
  return tapName(prefix, '*');
}

/** Whether a device is a tap of the pool, or of a larger one that was before. */
export function isTap({ tapPrefix }: NetworkPlan, device: string): boolean {
  return device.startsWith(tapName(tapPrefix, ''));
}

/** 02:00 says "locally administered"; the address makes the rest, so no two on one bridge are alike. */
export function macOf(address: string): string {
  const octets = address.split('.').map((octet) => Number(octet).toString(16).padStart(2, '0'));
  return ['02', '00', ...octets].join(':');
}

function valueOf(address: string): number {
  return address.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0);
}

function dotted(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');
}

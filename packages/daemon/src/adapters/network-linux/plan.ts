import type { NetworkLease } from '../../ports/network.ts';

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
  /** What can be leased, by slot. */
  readonly leases: readonly NetworkLease[];
}

export function planNetwork(settings: NetworkSettings): NetworkPlan {
  const [gateway = '', length] = settings.cidr.split('/');
  const prefixLength = Number(length);
  const first = numberOf(gateway);
  const leases = Array.from({ length: settings.poolSize }, (_, slot) => {
    const address = dotted(first + 1 + slot);
    return {
      slot,
      tap: tapName(settings.tapPrefix, slot),
      mac: macOf(address),
      address,
      prefixLength,
      gateway,
    };
  });
  const subnet = `${dotted(first - 1)}/${prefixLength}`;
  return { ...settings, gateway, gatewayMac: macOf(gateway), prefixLength, subnet, leases };
}

/** The dash keeps a tap apart from a bridge called like the prefix and a number. */
function tapName(prefix: string, slot: number | string): string {
  return `${prefix}-${slot}`;
}

/** What nft matches every tap by, also one that a smaller pool left over. */
export function tapPattern(prefix: string): string {
  return tapName(prefix, '*');
}

/** 02:00 says "locally administered"; the address makes the rest, so no two on one bridge are alike. */
function macOf(address: string): string {
  const octets = address.split('.').map((octet) => Number(octet).toString(16).padStart(2, '0'));
  return ['02', '00', ...octets].join(':');
}

function numberOf(address: string): number {
  return address.split('.').reduce((sum, octet) => sum * 256 + Number(octet), 0);
}

function dotted(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');
}

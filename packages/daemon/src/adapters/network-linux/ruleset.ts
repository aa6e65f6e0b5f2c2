import type { EgressPolicy, NetworkLease } from '../../ports/network.ts';
import { tapPattern } from './plan.ts';
import type { NetworkPlan } from './plan.ts';

// The rules as nft(8) reads them, one transaction a text. Both tables are named after the bridge, so that two daemons with a
// bridge each do not meet.

/** Where guests find the metadata service. The host has no such address: a cloud's own service may answer it there. */
export const METADATA_ADDRESS = '169.254.169.254';

/**
 * Each slot has its chain from the start, empty while there is no lease, and then nothing gets out. A change of policy is one of
 * rules alone: nft reads every element of every list before it changes a map, which takes long beside a long policy.
 */
const egressChain = ({ slot }: NetworkLease) => `egress-${slot}`;

/** Both ways of a slot's packets, which have their chains from the start as well, empty while they are not counted. */
const packetChains = ({ slot }: NetworkLease) => ({ out: `packets-out-${slot}`, in: `packets-in-${slot}` });

// The kernel counts a burst in 32 bits; no host passes as many.
const MAX_PACKETS = 1e9;

/** A second's tenth may pass at once. */
const BURST_SECONDS = 0.1;

/**
 * All rules of the host, in place of what was there.
 * @param uplink the interface to the outside; without one nothing is forwarded.
 */
export function hostRules(plan: NetworkPlan, uplink: string | undefined): string {
  const tables = [`bridge ${plan.bridge}`, `inet ${plan.bridge}`];
  return [
    // A table that is not there cannot be deleted, and one that is can be added.
    ...tables.flatMap((table) => [`add table ${table}`, `delete table ${table}`]),
    portRules(plan),
    hostTable(plan, uplink),
  ].join('\n');
}

/**
 * What may come in at a tap: IPv4 to the gateway, and ARP about it, each only with the MAC and the IPv4 address of the tap's
 * lease. Taps are told by name, so a tap that is made anew is not open for a moment.
 */
function portRules(plan: NetworkPlan): string {
  const senders = plan.leases.map(({ tap, mac, address }) => `"${tap}" . ${mac} . ${address}`);
  const counted = (way: 'in' | 'out') =>
    plan.leases.map((lease) => `"${lease.tap}" : jump ${packetChains(lease)[way]}`).join(',\n      ');
  return `
table bridge ${plan.bridge} {
  set senders {
    typeof iifname . ether saddr . ip saddr
    elements = { ${senders.join(',\n      ')} }
  }

${plan.leases.flatMap((lease) => Object.values(packetChains(lease)).map((name) => `  chain ${name} { }`)).join('\n')}

  chain prerouting {
    type filter hook prerouting priority filter; policy accept;
    iifname "${tapPattern(plan.tapPrefix)}" jump from_tap
  }

  chain postrouting {
    type filter hook postrouting priority filter; policy accept;
    oifname vmap { ${counted('in')} }
  }

  chain from_tap {
    iifname vmap { ${counted('out')} }
    ether daddr ${plan.gatewayMac} iifname . ether saddr . ip saddr @senders accept
    ether daddr { ${plan.gatewayMac}, ff:ff:ff:ff:ff:ff } jump arp_from_tap
    drop
  }

  chain arp_from_tap {
    arp htype 1 arp ptype ip arp hlen 6 arp plen 4 arp operation { request, reply } \\
      arp daddr ip ${plan.gateway} iifname . ether saddr . arp saddr ip @senders \\
      iifname . arp saddr ether . arp saddr ip @senders accept
  }
}`;
}

/**
 * What a guest's packet may do on the host. The two services listen on unprivileged ports, and packets are rewritten on
 * their way there and back without connection tracking: two questions from one port at the same time, as a resolver asks for
 * A and AAAA, would race for one entry of its table, and guests could fill it.
 */
function hostTable(plan: NetworkPlan, uplink: string | undefined): string {
  const { bridge, gateway, dnsPort, metadataPort } = plan;
  return `
table inet ${bridge} {
${plan.leases.map((lease) => `  chain ${egressChain(lease)} { }`).join('\n')}

  chain prerouting {
    type filter hook prerouting priority raw; policy accept;
    iifname "${bridge}" jump to_services
  }

  chain to_services {
    ip daddr ${gateway} meta l4proto { tcp, udp } th dport { ${dnsPort}, ${metadataPort} } drop
    ip daddr ${gateway} udp dport 53 notrack udp dport set ${dnsPort}
    ip daddr ${gateway} tcp dport 53 notrack tcp dport set ${dnsPort}
    ip daddr ${METADATA_ADDRESS} tcp dport 80 notrack ip daddr set ${gateway} tcp dport set ${metadataPort}
  }

  chain output {
    type filter hook output priority raw; policy accept;
    oifname "${bridge}" ip saddr ${gateway} jump from_services
  }

  chain from_services {
    udp sport ${dnsPort} notrack udp sport set 53
    tcp sport ${dnsPort} notrack tcp sport set 53
    tcp sport ${metadataPort} notrack ip saddr set ${METADATA_ADDRESS} tcp sport set 80
  }

  chain input {
    type filter hook input priority filter; policy accept;
    iifname "${bridge}" jump to_host
  }

  chain to_host {
    ip daddr ${gateway} udp dport ${dnsPort} accept
    ip daddr ${gateway} tcp dport { ${dnsPort}, ${metadataPort} } accept
    ip daddr ${gateway} icmp type echo-request accept
    drop
  }
${uplink === undefined ? closedForward(bridge) : forward(plan, uplink)}
}`;
}

function closedForward(bridge: string): string {
  return `
  chain forward {
    type filter hook forward priority filter; policy accept;
    iifname "${bridge}" drop
    oifname "${bridge}" drop
  }`;
}

/**
 * Guests open connections and the outside answers; nothing else crosses. A policy is asked about every packet of a guest,
 * not only the first of a connection, so a new one holds at once. Packets that connection tracking cannot place would leave
 * with the guest's own address. Link-local addresses stay on their link: a cloud's metadata service is one.
 */
function forward({ bridge, subnet, leases }: NetworkPlan, uplink: string): string {
  // A jump comes back here from the end of a chain; a goto would not, and the packet would be accepted.
  const policies = leases.map((lease) => `${lease.address} : jump ${egressChain(lease)}`);
  return `
  chain forward {
    type filter hook forward priority filter; policy accept;
    iifname "${bridge}" jump from_guest
    iifname "${uplink}" oifname "${bridge}" ct state established,related accept
    oifname "${bridge}" drop
  }

  chain from_guest {
    oifname != "${uplink}" drop
    ct state invalid drop
    ip daddr 169.254.0.0/16 drop
    tcp flags & (syn | rst) == syn tcp option maxseg size set rt mtu
    ip saddr vmap { ${policies.join(',\n      ')} }
    drop
  }

  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr ${subnet} oifname "${uplink}" masquerade
  }`;
}

/** A lease's policy, in place of the one before. nft merges networks that overlap. */
export function egressRules(
  { bridge }: NetworkPlan,
  lease: NetworkLease,
  policy: EgressPolicy | undefined,
): string {
  const chain = `inet ${bridge} ${egressChain(lease)}`;
  const { mode, allowCidrs, denyCidrs } = policy ?? { mode: 'allow_all', allowCidrs: [], denyCidrs: [] };
  return [
    `flush chain ${chain}`,
    ...matchRule(chain, denyCidrs, 'drop'),
    ...matchRule(chain, allowCidrs, 'accept'),
    `add rule ${chain} ${mode === 'allow_all' ? 'accept' : 'drop'}`,
  ].join('\n');
}

function matchRule(chain: string, cidrs: readonly string[], verdict: 'accept' | 'drop'): string[] {
  return cidrs.length === 0 ? [] : [`add rule ${chain} ip daddr { ${cidrs.join(', ')} } ${verdict}`];
}

/** How many packets of a lease may pass a second each way, in place of the number before; undefined: any. */
export function packetRules(
  { bridge }: NetworkPlan,
  lease: NetworkLease,
  perSecond: number | undefined,
): string {
  const chains = Object.values(packetChains(lease)).map((chain) => `bridge ${bridge} ${chain}`);
  const flushes = chains.map((chain) => `flush chain ${chain}`);
  if (perSecond === undefined) return flushes.join('\n');
  const rate = Math.min(perSecond, MAX_PACKETS);
  const burst = Math.max(1, Math.round(rate * BURST_SECONDS));
  const drop = `limit rate over ${rate}/second burst ${burst} packets drop`;
  return [...flushes, ...chains.map((chain) => `add rule ${chain} ${drop}`)].join('\n');
}

/** Takes a lease's policy away, so that nothing gets out then, and its limit. */
export function releaseRules(plan: NetworkPlan, lease: NetworkLease): string {
  return `flush chain inet ${plan.bridge} ${egressChain(lease)}\n${packetRules(plan, lease, undefined)}`;
}

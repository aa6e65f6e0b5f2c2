import type { EgressPolicy, NetworkRules } from '../../ports/network.ts';
import { tapPattern } from './plan.ts';
import type { NetworkPlan } from './plan.ts';

// The rules as nft(8) reads them, one transaction a text. Both tables are named after the bridge, so that two daemons with a
// bridge each do not meet.

/** Where guests find the metadata service. The host has no such address: a cloud's own service may answer it there. */
export const METADATA_ADDRESS = '169.254.169.254';

/** Who is on which device: the netlink helper enters a guest's device, MAC and address here (host/netlink/rules.go). */
const GUESTS = 'guests';
/** What becomes of a guest's packets to the outside, by its address: accepted, dropped, or a chain of its device. */
const POLICIES = 'policies';

/**
 * Chains of a device, for guests with lists or limits; there from the start, and empty for all others. nft reads every element of every
 * list before it changes a map or a set, which takes long beside a long policy: it changes rules alone, and the helper the elements.
 */
const chainsOf = (device: number) => ({
  /** Drops what its guest sends beyond its limit, in the bridge's table. */
  from: `from-${device}`,
  /** Drops what is sent to its guest beyond that, there. */
  to: `to-${device}`,
  /** Its guest's policy, in the host's table. */
  egress: `egress-${device}`,
});

// The kernel counts a burst in 32 bits; no host passes as many.
const MAX_PACKETS = 1e9;

/** A second's tenth may pass at once. */
const BURST_SECONDS = 0.1;

/**
 * All rules of the host, in place of what was there.
 * @param uplink the interface to the outside; without one nothing is forwarded.
 * @param uid the one user of the host who may connect to guests.
 */
export function hostRules(plan: NetworkPlan, uplink: string | undefined, uid: number): string {
  const tables = [`bridge ${plan.bridge}`, `inet ${plan.bridge}`];
  return [
    // A table that is not there cannot be deleted, and one that is can be added.
    ...tables.flatMap((table) => [`add table ${table}`, `delete table ${table}`]),
    portRules(plan),
    hostTable(plan, uplink, uid),
  ].join('\n');
}

/**
 * What may come in at a tap: IPv4 to the gateway, and ARP about it, each only with the MAC and the IPv4 address of who is on the tap; and
 * what may go out to it: the same the other way. Taps are told by name, so a tap that is made anew is not open for a moment.
 */
function portRules({ bridge, taps, tapPrefix, gateway, gatewayMac }: NetworkPlan): string {
  const chains = taps.flatMap((_, device) => [chainsOf(device).from, chainsOf(device).to]);
  const jumps = (way: 'from' | 'to') =>
    taps.map((tap, device) => `"${tap}" : jump ${chainsOf(device)[way]}`).join(',\n      ');
  return `
table bridge ${bridge} {
  set ${GUESTS} {
    type ifname . ether_addr . ipv4_addr
  }

  chain arp_from_tap {
    ether daddr { ${gatewayMac}, ff:ff:ff:ff:ff:ff } arp htype 1 arp ptype ip arp hlen 6 arp plen 4 \\
      arp operation { request, reply } arp daddr ip ${gateway} accept
  }

${chains.map((name) => `  chain ${name} { }`).join('\n')}

  chain from_tap {
    iifname vmap { ${jumps('from')} }
    iifname . ether saddr . ip saddr @${GUESTS} ether daddr ${gatewayMac} accept
    iifname . ether saddr . arp saddr ip @${GUESTS} iifname . arp saddr ether . arp saddr ip @${GUESTS} jump arp_from_tap
    drop
  }

  chain to_tap {
    oifname vmap { ${jumps('to')} }
    oifname . ether daddr . ip daddr @${GUESTS} accept
    oifname . ether daddr . arp daddr ip @${GUESTS} accept
    drop
  }

  chain prerouting {
    type filter hook prerouting priority filter; policy accept;
    iifname "${tapPattern(tapPrefix)}" jump from_tap
  }

  chain postrouting {
    type filter hook postrouting priority filter; policy accept;
    oifname "${tapPattern(tapPrefix)}" jump to_tap
  }
}`;
}

/**
 * What a guest's packet may do on the host. The two services listen on unprivileged ports, and packets are rewritten on
 * their way there and back without connection tracking: two questions from one port at the same time, as a resolver asks for
 * A and AAAA, would race for one entry of its table, and guests could fill it.
 *
 * The host opens connections to guests as the daemon alone, and these are what guests may answer: connection tracking tells an answer from
 * what a guest begins. The user is asked for with the first packet only: a connection's last ones may come when its socket is no one's.
 * That packet is a SYN: what a socket still sends once its connection was forgotten would otherwise be taken for a new one, to whoever has the
 * address next.
 */
function hostTable(plan: NetworkPlan, uplink: string | undefined, uid: number): string {
  const { bridge, gateway, dnsPort, metadataPort } = plan;
  return `
table inet ${bridge} {
  map ${POLICIES} {
    type ipv4_addr : verdict
  }

${plan.taps.map((_, device) => `  chain ${chainsOf(device).egress} { }`).join('\n')}

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

  chain opening {
    type filter hook output priority filter; policy accept;
    oifname "${bridge}" ct state new jump to_guest
  }

  chain to_guest {
    meta skuid ${uid} ip saddr ${gateway} tcp flags & (fin | syn | rst | ack) == syn accept
    drop
  }

  chain input {
    type filter hook input priority filter; policy accept;
    iifname "${bridge}" jump to_host
  }

  chain to_host {
    ip daddr ${gateway} udp dport ${dnsPort} accept
    ip daddr ${gateway} tcp dport { ${dnsPort}, ${metadataPort} } accept
    ip daddr ${gateway} icmp type echo-request accept
    ip daddr ${gateway} meta l4proto tcp ct state established ct direction reply accept
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
function forward({ bridge, subnet }: NetworkPlan, uplink: string): string {
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
    ip saddr vmap @${POLICIES}
    drop
  }

  chain postrouting {
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr ${subnet} oifname "${uplink}" masquerade
  }`;
}

/** What of a guest's rules takes rules of its own. */
export interface OwnRules {
  /** The policy that its address is to have. */
  readonly policy: string;
  /** Puts its lists and its limit in force on its device, in place of what was there; undefined: it has neither. */
  readonly text: string | undefined;
}

/** The rules of whoever is on a device: they hold for a guest once its policy is entered. */
export function ownRules(plan: NetworkPlan, device: number, { egress, rateLimit }: NetworkRules): OwnRules {
  const chains = chainsOf(device);
  const tooMany = packetLimit(rateLimit?.opsPerSec);
  const { lists, otherwise } = egressRules(egress);
  const hasLists = lists.length > 0;
  if (!hasLists && tooMany.length === 0) return { policy: otherwise, text: undefined };
  const text = [
    ...chainRules(`bridge ${plan.bridge} ${chains.from}`, tooMany),
    ...chainRules(`bridge ${plan.bridge} ${chains.to}`, tooMany),
    ...chainRules(`inet ${plan.bridge} ${chains.egress}`, hasLists ? [...lists, otherwise] : []),
  ].join('\n');
  return { policy: hasLists ? chains.egress : otherwise, text };
}

/** Takes away what `ownRules` put in force on a device. */
export function noOwnRules(plan: NetworkPlan, device: number): string {
  const { from, to, egress } = chainsOf(device);
  return [
    ...chainRules(`bridge ${plan.bridge} ${from}`, []),
    ...chainRules(`bridge ${plan.bridge} ${to}`, []),
    ...chainRules(`inet ${plan.bridge} ${egress}`, []),
  ].join('\n');
}

function chainRules(chain: string, rules: readonly string[]): string[] {
  return [`flush chain ${chain}`, ...rules.map((rule) => `add rule ${chain} ${rule}`)];
}

/** nft merges networks that overlap. */
function egressRules(policy: EgressPolicy | undefined): { lists: string[]; otherwise: string } {
  const { mode, allowCidrs, denyCidrs } = policy ?? { mode: 'allow_all', allowCidrs: [], denyCidrs: [] };
  const lists = [...matchRule(denyCidrs, 'drop'), ...matchRule(allowCidrs, 'accept')];
  return { lists, otherwise: mode === 'allow_all' ? 'accept' : 'drop' };
}

function matchRule(cidrs: readonly string[], verdict: 'accept' | 'drop'): string[] {
  return cidrs.length === 0 ? [] : [`ip daddr { ${cidrs.join(', ')} } ${verdict}`];
}

/** Drops what is beyond a number of packets a second; undefined: nothing. */
function packetLimit(perSecond: number | undefined): string[] {
  if (perSecond === undefined) return [];
  const rate = Math.min(perSecond, MAX_PACKETS);
  const burst = Math.max(1, Math.round(rate * BURST_SECONDS));
  return [`limit rate over ${rate}/second burst ${burst} packets drop`];
}

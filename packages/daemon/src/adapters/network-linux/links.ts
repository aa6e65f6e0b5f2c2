import { existsSync } from 'node:fs';
import { z } from 'zod';
import type { NetworkPlan } from './plan.ts';
import { queryTool } from './tools.ts';

/** Something that the host's network lacks, and the commands, as root, that mend it. */
export interface HostFault {
  readonly subject: string;
  readonly problem: string;
  readonly mend: readonly (readonly string[])[];
}

// As `ip -details` prints a link; the rest of it is passed over.
const Link = z.object({
  ifname: z.string(),
  flags: z.array(z.string()),
  address: z.string().optional(),
  master: z.string().optional(),
  inet6_addr_gen_mode: z.string().optional(),
  linkinfo: z
    .object({
      info_kind: z.string().optional(),
      info_data: z
        .object({ type: z.string(), user: z.coerce.string(), mcast_snooping: z.number() })
        .partial()
        .optional(),
      info_slave_data: z.record(z.string(), z.unknown()).optional(),
    })
    .optional(),
  addr_info: z.array(z.object({ family: z.string(), local: z.string(), prefixlen: z.number() })).default([]),
});
type Link = z.output<typeof Link>;

/**
 * How a tap's port is set. Isolated ports reach the bridge and never each other. The daemon tells the bridge which MAC is where
 * (`stations.ts`); it neither learns that from a guest nor tries every port for one it does not know.
 */
const PORT_FLAGS = { isolated: true, learning: false, flood: false, mcast_flood: false, bcast_flood: false };

/** What is wrong with the bridge and the taps. `owner` is the user who runs the daemon. */
export async function findLinkFaults(
  plan: NetworkPlan,
  owner: string,
  signal: AbortSignal,
): Promise<HostFault[]> {
  const all = await queryTool('ip', ['-details', 'address', 'show'], z.array(Link), signal);
  const links = new Map(all.map((link) => [link.ifname, link]));
  const taps = plan.taps.flatMap((tap) => {
    const link = links.get(tap);
    const problem = tapProblem(plan, link, owner);
    if (problem === undefined) return [];
    return [{ subject: 'tap', problem: `${tap} ${problem}`, mend: tapMend(plan, tap, owner, link) }];
  });
  const problem = bridgeProblem(plan, links.get(plan.bridge));
  if (problem === undefined) return taps;
  const mend = bridgeMend(plan, links.has(plan.bridge));
  return [{ subject: 'bridge', problem: `${plan.bridge} ${problem}`, mend }, ...taps];
}

function bridgeProblem(plan: NetworkPlan, link: Link | undefined): string | undefined {
  if (link === undefined) return 'is missing';
  if (link.linkinfo?.info_kind !== 'bridge') return 'is not a bridge';
  const addresses = link.addr_info.filter(({ family }) => family === 'inet');
  if (addresses.length !== 1 || `${addresses[0]?.local}/${addresses[0]?.prefixlen}` !== plan.cidr)
    return `has not ${plan.cidr} as its only address`;
  // A bridge without a MAC of its own takes a port's, and guests would send to one that is gone.
  if (link.address !== plan.gatewayMac) return `has not the MAC ${plan.gatewayMac}`;
  if (link.linkinfo.info_data?.mcast_snooping !== 0) return 'snoops on multicast';
  if (!link.flags.includes('UP')) return 'is down';
  return undefined;
}

function bridgeMend({ bridge, cidr, gatewayMac }: NetworkPlan, exists: boolean): string[][] {
  return [
    ...(exists ? [] : [['ip', 'link', 'add', 'name', bridge, 'type', 'bridge']]),
    ['ip', 'link', 'set', 'dev', bridge, 'type', 'bridge', 'mcast_snooping', '0'],
    ['ip', 'address', 'flush', 'dev', bridge],
    ['ip', 'address', 'add', cidr, 'dev', bridge],
    ['ip', 'link', 'set', 'dev', bridge, 'address', gatewayMac, ...noIpv6Address(), 'up'],
  ];
}

function tapProblem(plan: NetworkPlan, link: Link | undefined, owner: string): string | undefined {
  if (link === undefined) return 'is missing';
  const { info_kind: kind, info_data: data, info_slave_data: port = {} } = link.linkinfo ?? {};
  if (kind !== 'tun' || data?.type !== 'tap') return 'is not a tap';
  if (data.user !== owner) return `belongs to ${data.user ?? 'no user'}, not to ${owner}`;
  if (link.master !== plan.bridge) return `is not on bridge ${plan.bridge}`;
  if (!link.flags.includes('UP')) return 'is down';
  const wrong = Object.entries(PORT_FLAGS).find(([flag, value]) => port[flag] !== value);
  if (wrong !== undefined) return `has ${wrong[0]} ${wrong[1] ? 'off' : 'on'}`;
  return undefined;
}

/** A tap's owner cannot be changed, so one of another user's is made anew. */
function tapMend({ bridge }: NetworkPlan, tap: string, owner: string, link: Link | undefined): string[][] {
  const usable = link?.linkinfo?.info_data?.type === 'tap' && link.linkinfo.info_data.user === owner;
  const flags = Object.entries(PORT_FLAGS).flatMap(([flag, value]) => [flag, value ? 'on' : 'off']);
  return [
    ...(link === undefined || usable ? [] : [['ip', 'link', 'delete', 'dev', tap]]),
    ...(usable ? [] : [['ip', 'tuntap', 'add', 'dev', tap, 'mode', 'tap', 'user', owner]]),
    // Isolated before it is up: a port is never open to the others.
    ['ip', 'link', 'set', 'dev', tap, 'master', bridge, ...noIpv6Address()],
    ['ip', 'link', 'set', 'dev', tap, 'type', 'bridge_slave', ...flags],
    ['ip', 'link', 'set', 'dev', tap, 'up'],
  ];
}

/** Keeps a device from speaking IPv6 of its own accord. A kernel that was started without IPv6 refuses the word. */
function noIpv6Address(): string[] {
  return existsSync('/proc/sys/net/ipv6') ? ['addrgenmode', 'none'] : [];
}

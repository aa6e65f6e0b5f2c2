import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { z } from 'zod';
import { findLinkFaults } from './links.ts';
import type { HostFault } from './links.ts';
import type { NetworkPlan } from './plan.ts';
import { queryTool } from './tools.ts';

/**
 * What the host's set-up has to bring and the daemon relies on. The set-up runs the commands of these, the check shows them,
 * and the daemon does not start while there are any.
 */
export async function findHostFaults(
  plan: NetworkPlan,
  uplink: string | undefined,
  owner: string,
  signal: AbortSignal,
): Promise<HostFault[]> {
  const links = await findLinkFaults(plan, owner, signal);
  const settings = await Promise.all(kernelSettings(plan.bridge, uplink).map(settingFault));
  return [...links, ...settings.flat()];
}

/** Throws when there are faults, naming the first of them. */
export async function assertHostReady(
  plan: NetworkPlan,
  uplink: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const faults = await findHostFaults(plan, uplink, userInfo().username, signal);
  const [first] = faults;
  if (first === undefined) return;
  const others = faults.length === 1 ? '' : `, and ${faults.length - 1} more`;
  throw new Error(
    `the host's network is not set up: ${first.subject} ${first.problem}${others} (npm run doctor says what mends it)`,
  );
}

interface KernelSetting {
  readonly subject: string;
  readonly path: string;
  readonly value: string;
  readonly problem: string;
}

/** Forwarding is turned on where guests' packets come in and where answers do, and nowhere else. */
export function kernelSettings(bridge: string, uplink: string | undefined): KernelSetting[] {
  const forwarding = [bridge, ...(uplink === undefined ? [] : [uplink])].map((device) => ({
    subject: 'forwarding',
    path: `net/ipv4/conf/${device}/forwarding`,
    value: '1',
    problem: `is off on ${device}: guests reach nothing beyond the host`,
  }));
  const path = `net/ipv6/conf/${bridge}/disable_ipv6`;
  return [...forwarding, { subject: 'IPv6', path, value: '1', problem: `is on on ${bridge}` }];
}

async function settingFault({ subject, path, value, problem }: KernelSetting): Promise<HostFault[]> {
  const mend = [['sysctl', '-q', '-w', `${path}=${value}`]];
  try {
    const current = await readFile(`/proc/sys/${path}`, 'utf8');
    return current.trim() === value ? [] : [{ subject, problem, mend }];
  } catch {
    // No such device, which is a fault of its own, or a kernel without IPv6. After the device's mend it is there.
    return path.startsWith('net/ipv4') ? [{ subject, problem, mend }] : [];
  }
}

const Routes = z.array(z.object({ dev: z.string().optional(), metric: z.number().default(0) }));

/** The interface of the IPv4 default route that the kernel prefers. */
export async function findUplink(signal: AbortSignal): Promise<string | undefined> {
  const routes = await queryTool('ip', ['-4', 'route', 'show', 'default'], Routes, signal);
  return routes.toSorted((a, b) => a.metric - b.metric).find(({ dev }) => dev !== undefined)?.dev;
}

import { findHostFaults } from '../../packages/daemon/src/adapters/network-linux/host.ts';
import type { HostFault } from '../../packages/daemon/src/adapters/network-linux/links.ts';
import { findTool, TOOLS } from '../../packages/daemon/src/adapters/network-linux/tools.ts';
import type { Tool } from '../../packages/daemon/src/adapters/network-linux/tools.ts';
import { findAccount } from './accounts.ts';
import { fault, sound } from './finding.ts';
import type { Fault, Finding } from './finding.ts';
import { SIGNAL } from './settings.ts';
import type { HostSettings } from './settings.ts';

/** Marks the user as one that the set-up made, and that the tear-down may remove. */
export const USER_COMMENT = 'Atoll daemon, made by its set-up';

export function checkTools(): Finding[] {
  return (Object.keys(TOOLS) as Tool[]).map((tool) => {
    const path = findTool(tool);
    if (path !== undefined) return sound(tool, path);
    return fault(tool, 'is missing', ['apt-get', 'install', '--yes', '--no-install-recommends', TOOLS[tool]]);
  });
}

export async function checkUser({ user, stateDir }: HostSettings): Promise<Finding[]> {
  const account = await findAccount(user);
  if (account !== undefined) return [sound('user', `${user} (${account.uid})`)];
  const options = ['--system', '--user-group', '--no-create-home', '--home-dir', stateDir];
  const shell = ['--shell', '/usr/sbin/nologin', '--comment', USER_COMMENT];
  return [fault('user', `${user} is missing`, ['useradd', ...options, ...shell, user])];
}

/** Bridge, taps and kernel settings. */
export async function checkNetwork({ plan, uplink, user }: HostSettings): Promise<Finding[]> {
  if ((['ip', 'bridge'] as const).some((tool) => findTool(tool) === undefined)) return [];
  const faults = await findHostFaults(plan, uplink, user, SIGNAL);
  const subjects = [
    ['bridge', `${plan.bridge}, ${plan.cidr}`],
    ['tap', `${plan.taps.length} of ${user}, ${plan.taps[0]} to ${plan.taps.at(-1)}, each isolated`],
    ['forwarding', `between ${plan.bridge} and ${uplink}`],
    ['IPv6', `off on ${plan.bridge}`],
  ] as const;
  const findings = subjects.flatMap(([subject, text]): Finding[] => {
    const found = faults.filter((each) => each.subject === subject).map(asFault);
    // Of a bridge that is not there the kernel says nothing.
    const unknown = subject === 'IPv6' && faults.some((each) => each.subject === 'bridge');
    return found.length > 0 || unknown ? found : [sound(subject, text)];
  });
  if (uplink !== undefined) return findings;
  const advice = 'name an interface with SERVICE_UPLINK_IFACE, or bring up a default route';
  return [
    ...findings,
    { ...fault('uplink', 'there is no default route: guests reach nothing beyond the host'), advice },
  ];
}

function asFault({ subject, problem, mend }: HostFault): Fault {
  return fault(subject, problem, ...mend);
}

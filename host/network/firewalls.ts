import { z } from 'zod';
import { findTool, runTool } from '../../packages/daemon/src/adapters/network-linux/tools.ts';
import { fault, sound } from './finding.ts';
import type { Fault, Finding } from './finding.ts';
import { SIGNAL } from './settings.ts';
import type { HostSettings } from './settings.ts';

const Chains = z.object({
  nftables: z.array(
    z.object({
      chain: z
        .object({
          family: z.string(),
          table: z.string(),
          name: z.string(),
          hook: z.string().optional(),
          policy: z.string().optional(),
        })
        .optional(),
    }),
  ),
});

/**
 * Another firewall whose chain drops what it does not know stops guests, whatever Atoll's own rules say: a packet has to get
 * through every chain. One whose table speaks of the bridge knows it.
 */
export async function checkFirewalls({ plan, uplink }: HostSettings): Promise<Finding[]> {
  // Only root may read the rules.
  if (process.getuid?.() !== 0 || findTool('nft') === undefined) return [];
  const { nftables } = Chains.parse(JSON.parse(await runTool('nft', ['-j', 'list', 'chains'], SIGNAL)));
  const faults: Fault[] = [];
  for (const { chain } of nftables) {
    if (chain === undefined || chain.policy !== 'drop' || chain.table === plan.bridge) continue;
    if (!['ip', 'inet'].includes(chain.family) || !['input', 'forward'].includes(chain.hook ?? '')) continue;
    const rules = await runTool('nft', ['list', 'table', chain.family, chain.table], SIGNAL);
    if (rules.includes(`"${plan.bridge}"`)) continue;
    const insert = ['nft', 'insert', 'rule', chain.family, chain.table, chain.name];
    const from = [...insert, 'iifname', plan.bridge, 'accept'];
    const back = [
      ...insert,
      'iifname',
      uplink ?? '',
      'oifname',
      plan.bridge,
      'ct',
      'state',
      'established,related',
      'accept',
    ];
    const mend = chain.hook === 'forward' && uplink !== undefined ? [from, back] : [from];
    faults.push(
      fault('firewall', `${chain.family} ${chain.table} ${chain.name} drops what guests send`, ...mend),
    );
  }
  return faults.length === 0 ? [sound('firewall', 'no other chain stops guests')] : faults;
}

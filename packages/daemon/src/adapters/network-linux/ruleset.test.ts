import { describe, expect, it } from 'vitest';
import type { NetworkRules } from '../../ports/network.ts';
import { planNetwork } from './plan.ts';
import { hostRules, noOwnRules, ownRules } from './ruleset.ts';

const plan = planNetwork({
  ...{ bridge: 'br1', cidr: '10.9.0.1/16', tapPrefix: 'tap', poolSize: 3 },
  ...{ dnsPort: 7753, metadataPort: 7780 },
});

const rulesOf = (rules: Partial<NetworkRules>) =>
  ownRules(plan, 1, { egress: undefined, rateLimit: undefined, ...rules });
const ofChain = ({ text = '' }: { readonly text: string | undefined }, chain: string) =>
  text
    .split('\n')
    .filter((line) => line.includes(` ${chain}`))
    .map((line) => line.replace(/^.* br1 \S+ ?/, ''));
const chainOf = (rules: string, chain: string) =>
  (rules.split(`chain ${chain} {\n`)[1] ?? '')
    .split('\n  }')[0]
    ?.split('\n')
    .map((line) => line.trim()) ?? [];
const limit = { bandwidthBytesPerSec: undefined, opsPerSec: 30 };

describe('ownRules', () => {
  it('are none where there is neither list nor limit', () => {
    expect(rulesOf({})).toEqual({ policy: 'accept', text: undefined });
    for (const [mode, policy] of [
      ['allow_all', 'accept'],
      ['deny_all', 'drop'],
    ] as const)
      expect(rulesOf({ egress: { mode, allowCidrs: [], denyCidrs: [] } })).toEqual({
        policy,
        text: undefined,
      });
  });

  it('deny before they allow, and then do as the mode says', () => {
    const egress = {
      mode: 'deny_all',
      allowCidrs: ['10.0.0.0/8'],
      denyCidrs: ['10.1.0.0/16', '10.2.0.0/16'],
    } as const;
    const rules = rulesOf({ egress });
    expect(rules.policy).toBe('egress-1');
    expect(ofChain(rules, 'egress-1')).toEqual([
      '',
      'ip daddr { 10.1.0.0/16, 10.2.0.0/16 } drop',
      'ip daddr { 10.0.0.0/8 } accept',
      'drop',
    ]);
    expect(ofChain(rules, 'from-1')).toEqual(['']);
  });

  it('limit packets, each way, whatever the policy', () => {
    const rules = rulesOf({ rateLimit: limit });
    expect(rules.policy).toBe('accept');
    expect(ofChain(rules, 'egress-1')).toEqual(['']);
    for (const chain of ['from-1', 'to-1'])
      expect(ofChain(rules, chain)).toEqual(['', 'limit rate over 30/second burst 3 packets drop']);
  });
});

describe('noOwnRules', () => {
  it('leaves the chains of the device empty, as they were, and those of others alone', () => {
    expect(noOwnRules(plan, 1).split('\n')).toEqual([
      'flush chain bridge br1 from-1',
      'flush chain bridge br1 to-1',
      'flush chain inet br1 egress-1',
    ]);
  });
});

describe('hostRules', () => {
  it('replaces both tables of this bridge and speaks of no other', () => {
    const tables = hostRules(plan, 'eth0', 977).match(/^(add |delete )?table .*$/gm);
    expect(tables).toEqual([
      'add table bridge br1',
      'delete table bridge br1',
      'add table inet br1',
      'delete table inet br1',
      'table bridge br1 {',
      'table inet br1 {',
    ]);
  });

  it('forwards nothing where there is no way out', () => {
    expect(hostRules(plan, undefined, 977)).not.toContain('masquerade');
    expect(hostRules(plan, undefined, 977)).toContain('iifname "br1" drop');
  });

  it('let one user open connections to guests, and guests answer these', () => {
    const rules = hostRules(plan, 'eth0', 977);
    expect(rules).toContain('oifname "br1" ct state new jump to_guest');
    expect(chainOf(rules, 'to_guest')).toEqual([
      'meta skuid 977 ip saddr 10.9.0.1 tcp flags & (fin | syn | rst | ack) == syn accept',
      'drop',
    ]);
    expect(chainOf(rules, 'to_host').slice(-2)).toEqual([
      'ip daddr 10.9.0.1 meta l4proto tcp ct state established ct direction reply accept',
      'drop',
    ]);
  });
});

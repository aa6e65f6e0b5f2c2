import { describe, expect, it } from 'vitest';
import { planNetwork } from './plan.ts';
import { egressRules, hostRules, releaseRules } from './ruleset.ts';

const plan = planNetwork({
  ...{ bridge: 'br1', cidr: '10.9.0.1/24', tapPrefix: 'tap', poolSize: 2 },
  ...{ dnsPort: 7753, metadataPort: 7780 },
});
const [lease] = plan.leases;
if (lease === undefined) throw new Error('no lease');

describe('egressRules', () => {
  it('denies before it allows, and then does as the mode says', () => {
    const policy = {
      mode: 'deny_all',
      allowCidrs: ['10.0.0.0/8'],
      denyCidrs: ['10.1.0.0/16', '10.2.0.0/16'],
    } as const;
    expect(egressRules(plan, lease, policy).split('\n')).toEqual([
      'flush chain inet br1 egress-0',
      'add rule inet br1 egress-0 ip daddr { 10.1.0.0/16, 10.2.0.0/16 } drop',
      'add rule inet br1 egress-0 ip daddr { 10.0.0.0/8 } accept',
      'add rule inet br1 egress-0 drop',
    ]);
  });

  it('has no rule for an empty list, and lets all out without a policy', () => {
    const open = ['flush chain inet br1 egress-0', 'add rule inet br1 egress-0 accept'];
    expect(egressRules(plan, lease, undefined).split('\n')).toEqual(open);
    expect(
      egressRules(plan, lease, { mode: 'allow_all', allowCidrs: [], denyCidrs: [] }).split('\n'),
    ).toEqual(open);
  });
});

describe('releaseRules', () => {
  it('leaves the chain of the slot empty, as it was', () => {
    expect(releaseRules(plan, lease).split('\n')).toEqual([
      'flush chain inet br1 egress-0',
      'flush chain bridge br1 packets-out-0',
      'flush chain bridge br1 packets-in-0',
    ]);
  });
});

describe('hostRules', () => {
  it('replaces both tables of this bridge and speaks of no other', () => {
    const tables = hostRules(plan, 'eth0').match(/^(add |delete )?table .*$/gm);
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
    expect(hostRules(plan, undefined)).not.toContain('masquerade');
    expect(hostRules(plan, undefined)).toContain('iifname "br1" drop');
  });
});

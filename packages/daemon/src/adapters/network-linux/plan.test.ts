import { describe, expect, it } from 'vitest';
import { planNetwork } from './plan.ts';

const SETTINGS = { bridge: 'atoll0', tapPrefix: 'atoll', poolSize: 300, dnsPort: 7753, metadataPort: 7780 };

describe('planNetwork', () => {
  it('makes every name and address from the slot', () => {
    const plan = planNetwork({ ...SETTINGS, cidr: '10.213.0.1/16' });
    expect(plan).toMatchObject({
      gateway: '10.213.0.1',
      gatewayMac: '02:00:0a:d5:00:01',
      subnet: '10.213.0.0/16',
    });
    const shared = { prefixLength: 16, gateway: '10.213.0.1' };
    expect(plan.leases[0]).toEqual({
      ...{ slot: 0, tap: 'atoll-0', mac: '02:00:0a:d5:00:02', address: '10.213.0.2' },
      ...shared,
    });
    expect(plan.leases[299]).toEqual({
      ...{ slot: 299, tap: 'atoll-299', mac: '02:00:0a:d5:01:2d', address: '10.213.1.45' },
      ...shared,
    });
  });

  it('works at the upper end of the address space', () => {
    const plan = planNetwork({ ...SETTINGS, poolSize: 2, cidr: '223.255.255.249/29' });
    expect([plan.subnet, plan.leases[1]?.address]).toEqual(['223.255.255.248/29', '223.255.255.251']);
  });
});

import { describe, expect, it } from 'vitest';
import { identityAt, numberOf, planNetwork } from './plan.ts';

const SETTINGS = { bridge: 'atoll0', tapPrefix: 'atoll', poolSize: 300, dnsPort: 7753, metadataPort: 7780 };

describe('planNetwork', () => {
  it('makes every name and address from the settings', () => {
    const plan = planNetwork({ ...SETTINGS, cidr: '10.213.0.1/16' });
    expect(plan).toMatchObject({
      ...{ gateway: '10.213.0.1', gatewayMac: '02:00:0a:d5:00:01', subnet: '10.213.0.0/16' },
      identities: 65_533,
    });
    expect([plan.taps.length, plan.taps[0], plan.taps[299]]).toEqual([300, 'atoll-0', 'atoll-299']);
    const shared = { prefixLength: 16, gateway: '10.213.0.1' };
    expect(identityAt(plan, 0)).toEqual({ mac: '02:00:0a:d5:00:02', address: '10.213.0.2', ...shared });
    expect(identityAt(plan, 65_532)).toEqual({
      ...{ mac: '02:00:0a:d5:ff:fe', address: '10.213.255.254' },
      ...shared,
    });
  });

  it('works at the upper end of the address space', () => {
    const plan = planNetwork({ ...SETTINGS, poolSize: 2, cidr: '223.255.255.249/29' });
    expect([plan.subnet, plan.identities]).toEqual(['223.255.255.248/29', 5]);
    expect(identityAt(plan, 4).address).toBe('223.255.255.254');
  });
});

describe('numberOf', () => {
  const plan = planNetwork({ ...SETTINGS, poolSize: 2, cidr: '10.9.0.1/29' });

  it('is what the identity was made from', () => {
    for (let number = 0; number < plan.identities; number += 1)
      expect(numberOf(plan, identityAt(plan, number))).toBe(number);
  });

  it.each([
    { address: '10.9.0.1' },
    { address: '10.9.0.7' },
    { address: '10.9.0.3' },
    { address: 'nowhere' },
    { mac: '02:00:0a:09:00:03' },
    { prefixLength: 24 },
    { gateway: '10.9.0.3' },
  ])('is none for what is not of the network: %o', (other) => {
    expect(numberOf(plan, { ...identityAt(plan, 0), ...other })).toBeUndefined();
  });
});

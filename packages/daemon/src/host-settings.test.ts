import { describe, expect, it } from 'vitest';
import { readNetworkSettings } from './host-settings.ts';

function read(env: Record<string, string>) {
  const faults: string[] = [];
  const settings = readNetworkSettings({
    text: (name) => env[name],
    integer: (name, fallback) => Number(env[name] ?? fallback),
    fault: (name, value, takes, fallback) => {
      faults.push(`${name}=${value}: takes ${takes}`);
      return fallback;
    },
  });
  return { settings, faults };
}

describe('readNetworkSettings', () => {
  it('has defaults for all of it', () => {
    expect(read({})).toEqual({
      faults: [],
      settings: {
        ...{ bridge: 'atoll0', cidr: '10.213.0.1/16', tapPrefix: 'atoll', poolSize: 64 },
        ...{ uplink: undefined, dnsPort: 7753, metadataPort: 7780 },
      },
    });
  });

  it.each(['eth0', 'eth0.100', 'wlp3s0', 'bond0:1'])('takes the uplink %s', (name) => {
    expect(read({ SERVICE_UPLINK_IFACE: name }).settings.uplink).toBe(name);
  });

  it.each([
    ['SERVICE_BRIDGE_NAME', 'a-name-that-is-too-long'],
    ['SERVICE_BRIDGE_NAME', '0br'],
    ['SERVICE_BRIDGE_NAME', 'atoll-0'],
    ['SERVICE_TAP_POOL_PREFIX', 'atoll-'],
    ['SERVICE_TAP_POOL_PREFIX', 'longerthanten'],
    ['SERVICE_UPLINK_IFACE', 'eth0 '],
    ['SERVICE_UPLINK_IFACE', 'eth"0'],
    ['SERVICE_BRIDGE_CIDR', '10.213.0.1'],
    ['SERVICE_BRIDGE_CIDR', '10.213.0.2/16'],
    ['SERVICE_BRIDGE_CIDR', '10.213.0.0/16'],
    ['SERVICE_BRIDGE_CIDR', '10.213.0.1/33'],
    ['SERVICE_BRIDGE_CIDR', '10.213.0.1/7'],
    ['SERVICE_BRIDGE_CIDR', '10.213.256.1/24'],
    ['SERVICE_BRIDGE_CIDR', '10.213.0.1/26'],
    ['SERVICE_BRIDGE_CIDR', 'fd00::1/64'],
  ])('refuses %s=%s', (name, value) => {
    const { faults } = read({ [name]: value });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(`${name}=${value}: takes `);
  });

  it('counts how many guests a network has room for', () => {
    const env = { SERVICE_BRIDGE_CIDR: '10.0.0.1/29' };
    expect(read({ ...env, SERVICE_TAP_POOL_SIZE: '5' }).faults).toEqual([]);
    expect(read({ ...env, SERVICE_TAP_POOL_SIZE: '6' }).faults).toHaveLength(1);
  });
});

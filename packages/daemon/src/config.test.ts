import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ConfigError, loadConfig } from './config.ts';

const dir = mkdtempSync(join(tmpdir(), 'atoll-config-'));
const file = join(dir, 'file');
writeFileSync(file, '');
const files = Object.fromEntries(
  ['KERNEL_PATH', 'BASE_ROOTFS', 'INITRAMFS_PATH', 'NETLINK_PATH'].map((name) => [`SERVICE_${name}`, file]),
);
afterAll(() => rmSync(dir, { recursive: true }));

function faultsOf(env: Record<string, string>): readonly string[] {
  try {
    loadConfig({ ...files, ...env });
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

test('an empty environment gives the documented defaults', () => {
  const { config } = loadConfig(files);
  expect(config).toMatchObject({
    listen: { host: '127.0.0.1', port: 7777 },
    authToken: undefined,
    accelerator: 'auto',
    sizes: { vcpuCount: 2, maxVcpuCount: 16, memSizeMib: 512, maxMemSizeMib: 16_384 },
    maxBodyBytes: 64 * 1024 * 1024,
    logFormat: 'pretty',
  });
});

test('every fault is reported at once, with name, value and what it takes', () => {
  const faults = faultsOf({
    SERVICE_LISTEN_ADDR: '7777',
    SERVICE_VCPU_COUNT: '1.5',
    SERVICE_ACCEL: 'hvf',
    SERVICE_STATE_DIR: 'state',
    SERVICE_KERNEL_PATH: join(dir, 'none'),
    SERVICE_LOG_FORMAT: 'xml',
  });
  expect(faults).toHaveLength(6);
  expect(faults).toContain('SERVICE_VCPU_COUNT=1.5: takes an integer from 1 to 1048576');
  expect(faults).toContain('SERVICE_ACCEL=hvf: takes one of auto, kvm, tcg');
  expect(faults).toContain('SERVICE_STATE_DIR=state: takes an absolute path');
  expect(faults).toContain('SERVICE_LISTEN_ADDR=7777: takes host:port, such as 127.0.0.1:7777');
});

test('a default above its ceiling is a fault, a lone low ceiling is not', () => {
  expect(faultsOf({ SERVICE_VCPU_COUNT: '8', SERVICE_MAX_VCPU_COUNT: '4' })).toEqual([
    'SERVICE_VCPU_COUNT=8: takes at most SERVICE_MAX_VCPU_COUNT, which is 4',
  ]);
  expect(loadConfig({ ...files, SERVICE_MAX_VCPU_COUNT: '1' }).config.sizes.vcpuCount).toBe(1);
});

test('an IPv6 address and an empty variable are understood', () => {
  const { config } = loadConfig({ ...files, SERVICE_LISTEN_ADDR: '[::1]:80', SERVICE_AUTH_TOKEN: '' });
  expect(config.listen).toEqual({ host: '::1', port: 80 });
  expect(config.authToken).toBeUndefined();
});

test('variables that nobody reads are told', () => {
  expect(loadConfig({ ...files, SERVICE_MEM_SIZE: '512' }).unknown).toEqual(['SERVICE_MEM_SIZE']);
});

test('a token is in no fault', () => {
  expect(faultsOf({ SERVICE_AUTH_TOKEN: 'secret', SERVICE_ACCEL: 'x' }).join()).not.toContain('secret');
});

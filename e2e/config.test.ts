import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { Daemon, startRefused } from './harness/daemon.ts';
import type { Env } from './harness/daemon.ts';
import { expectFailure } from './harness/failure.ts';

/** Variables with a value that makes no sense. */
const MALFORMED: Env = {
  SERVICE_LISTEN_ADDR: 'nowhere',
  SERVICE_KERNEL_PATH: '/no/such/kernel',
  SERVICE_BASE_ROOTFS: '/no/such/rootfs',
  SERVICE_INITRAMFS_PATH: '/',
  SERVICE_STATE_DIR: 'relative/dir',
  SERVICE_ACCEL: 'magic',
  SERVICE_LOG_FORMAT: 'xml',
  SERVICE_LOG_LEVEL: 'loud',
  SERVICE_VCPU_COUNT: '0',
  SERVICE_MAX_VCPU_COUNT: '-1',
  SERVICE_MEM_SIZE_MIB: '512M',
  SERVICE_MAX_MEM_SIZE_MIB: '1.5',
  SERVICE_MAX_BODY_BYTES: 'many',
  SERVICE_MAX_EXEC_OUTPUT_BYTES: '0x100000',
  SERVICE_BOOT_TIMEOUT_SECS: '0',
  SERVICE_CONCURRENT_BOOTS: ' ',
};

describe('malformed variables', () => {
  it('are all reported at once, one line each', async () => {
    const { code, stderr } = await startRefused(MALFORMED);
    expect(code).toBeGreaterThan(0);
    const lines = stderr.trim().split('\n');
    for (const [name, value] of Object.entries(MALFORMED)) {
      const own = lines.filter((line) => line.includes(`${name}=${value}`));
      expect(own, `${name} in\n${stderr}`).toHaveLength(1);
      expect(own[0]).toMatch(/: takes \S/);
    }
    expect(lines).toHaveLength(Object.keys(MALFORMED).length);
  });

  it.each([
    ['SERVICE_LISTEN_ADDR', '127.0.0.1'],
    ['SERVICE_LISTEN_ADDR', '127.0.0.1:65536'],
    ['SERVICE_LISTEN_ADDR', '127.0.0.1:http'],
    ['SERVICE_VCPU_COUNT', '2 '],
    ['SERVICE_VCPU_COUNT', '1e1'],
    ['SERVICE_MEM_SIZE_MIB', '999999999999999999999'],
    ['SERVICE_ACCEL', 'KVM'],
  ])('%s=%s', async (name, value) => {
    const { code, stderr } = await startRefused({ [name]: value });
    expect(code).toBeGreaterThan(0);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(stderr).toContain(`${name}=${value}: takes `);
  });

  it.each([
    ['SERVICE_VCPU_COUNT', '8', 'SERVICE_MAX_VCPU_COUNT', '4'],
    ['SERVICE_MEM_SIZE_MIB', '2048', 'SERVICE_MAX_MEM_SIZE_MIB', '1024'],
  ])('a default above its ceiling: %s=%s', async (name, value, ceiling, most) => {
    const { code, stderr } = await startRefused({ [name]: value, [ceiling]: most });
    expect(code).toBeGreaterThan(0);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(stderr).toContain(`${name}=${value}`);
    expect(stderr).toContain(ceiling);
    expect(stderr).toContain(most);
  });

  it('are told without a stack trace, as is an address in use', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { code, stderr } = await startRefused({ SERVICE_LISTEN_ADDR: `127.0.0.1:${port}` });
    server.close();
    expect(code).toBeGreaterThan(0);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(stderr).toContain(String(port));
  });
});

describe('ceilings', () => {
  it('a lowered one bounds requests, and the default with it', async () => {
    const ceilings = { SERVICE_MAX_VCPU_COUNT: '1', SERVICE_MAX_MEM_SIZE_MIB: '256' };
    await using daemon = await Daemon.start(ceilings);
    const over = { vcpu_count: 2 };
    expectFailure(await daemon.client.call('POST', '/sandboxes', over), 400, 'INVALID_REQUEST', 'vcpu_count');
    const large = { mem_size_mib: 257 };
    expectFailure(
      await daemon.client.call('POST', '/sandboxes', large),
      400,
      'INVALID_REQUEST',
      'mem_size_mib',
    );
  });
});

describe('empty and unknown variables', () => {
  it('an empty one equals none, and an unknown one is pointed out', async () => {
    await using daemon = await Daemon.start({ SERVICE_VCPU_COUNT: '', SERVICE_VCPU_CUONT: '4' });
    expect((await daemon.client.call('GET', '/healthz')).text).toBe('ok');
    expect(daemon.log.stdout).toContain('SERVICE_VCPU_CUONT');
  });
});

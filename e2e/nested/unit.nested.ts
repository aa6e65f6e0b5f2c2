import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../harness/poll.ts';
import { createSandbox } from '../harness/sandbox.ts';
import { bringUp, takeSnapshot } from '../harness/snapshot.ts';
import { monitors, setUpHost, sh, unit } from './host.ts';

const SOON_MS = 60_000;

beforeAll(async () => {
  await setUpHost();
  await unit.start();
});

afterAll(() => unit.remove());

test('the units are sound, and come up at a boot', async () => {
  expect(await sh('systemd-analyze verify atoll.service atoll-network.service 2>&1')).toBe('');
  expect((await sh('systemctl is-enabled atoll-network.service')).trim()).toBe('enabled');
  expect(await unit.property('ActiveState')).toBe('active');
});

test('the daemon has one capability, gains none, and sees little of the host', async () => {
  const pid = await unit.property('MainPID');
  const status = await sh(`cat /proc/${pid}/status`);
  // CAP_NET_ADMIN is bit 12.
  for (const set of ['CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
    expect(status).toMatch(`${set}:\t0000000000001000`);
  expect(status).toMatch('NoNewPrivs:\t1');
  expect((await sh(`ps -o user= -p ${pid}`)).trim()).toBe('atoll');
  const exposure = /Overall exposure level for atoll.service: ([\d.]+)/.exec(
    await sh('systemd-analyze security --no-pager atoll.service 2>&1'),
  );
  // systemd's own measure: below 5 is at least `MEDIUM`; a service that says nothing has 9.6.
  expect(Number(exposure?.[1])).toBeLessThan(5);
});

test('it finds KVM, and a sandbox boots, runs, is kept and resumed under it', async () => {
  expect(await sh('journalctl --boot --unit atoll.service --output cat')).toMatch(/accelerator\W+kvm\b/);
  const sandbox = await createSandbox(unit.client, { mem_size_mib: 256 });
  expect(await sandbox.sh('echo here >/root/kept && id -un')).toBe('root');
  const clocks = 'cat /sys/devices/system/clocksource/clocksource0/available_clocksource';
  expect(await sandbox.sh(clocks)).toContain('kvm-clock');
  expect(await monitors()).toEqual([expect.stringContaining('-accel kvm')]);

  const snapshot = await takeSnapshot(unit.client, sandbox.id);
  expect(await monitors()).toEqual([]);
  const resumed = await bringUp(unit.client, `${snapshot}/resume`);
  expect(await resumed.sh('cat /root/kept')).toBe('here');
  expect(await monitors()).toEqual([expect.stringContaining('-accel kvm')]);
});

test('a daemon that is killed comes back, and none of its machines is left', async () => {
  expect(await monitors()).toHaveLength(1);
  const pid = await unit.property('MainPID');
  await sh(`kill -KILL ${pid}`);
  await until(
    'another daemon answers',
    async () => (await unit.isUp()) && (await unit.property('MainPID')) !== pid,
    SOON_MS,
  );
  expect(Number(await unit.property('NRestarts'))).toBe(1);
  expect(await monitors()).toEqual([]);
});

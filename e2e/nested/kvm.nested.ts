import { beforeAll, expect, test } from 'vitest';
import { Daemon } from '../harness/daemon.ts';
import { createSandbox } from '../harness/sandbox.ts';
import { bringUp, deleteSnapshots, takeSnapshot } from '../harness/snapshot.ts';
import { FEW_TAPS, monitors, setUpHost } from './host.ts';

beforeAll(() => setUpHost());

test('a daemon that looks for KVM finds it, and a sandbox boots, runs, is kept and resumed under it', async () => {
  await using daemon = await Daemon.start({ ...FEW_TAPS, SERVICE_ACCEL: 'auto' });
  expect(daemon.log.find('listening')).toMatchObject({ accelerator: 'kvm' });
  const { client } = daemon;

  const sandbox = await createSandbox(client, { mem_size_mib: 256 });
  expect(await sandbox.sh('echo here >/root/kept && uname -s')).toBe('Linux');
  expect(
    await sandbox.sh('cat /sys/devices/system/clocksource/clocksource0/available_clocksource'),
  ).toContain('kvm-clock');
  expect(await monitors()).toEqual([expect.stringContaining('-accel kvm')]);

  const snapshot = await takeSnapshot(client, sandbox.id);
  expect(await monitors()).toEqual([]);
  {
    await using resumed = await bringUp(client, `${snapshot}/resume`);
    expect(await resumed.sh('cat /root/kept')).toBe('here');
    expect(await monitors()).toEqual([expect.stringContaining('-accel kvm')]);
  }
  await deleteSnapshots(client);
});

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Daemon } from './harness/daemon.ts';
import { createDrive, deviceOf, mountOf } from './storage/drives.ts';
import {
  createMeasured,
  diskRate,
  expectRate,
  measure,
  SERVER,
  startMeasured,
} from './storage/throughput.ts';

const execute = promisify(execFile);
const RATE = 10_000_000;
const OPS = 100;

const stack = new AsyncDisposableStack();
let daemon: Daemon;

beforeAll(async () => {
  daemon = stack.use(await startMeasured(stack));
});
afterAll(() => stack.disposeAsync());

describe('a bandwidth of 10 MB/s', () => {
  it('is what each disk and the network card give, each way, and is shown', async () => {
    const drive = await createDrive(daemon.client, 128);
    await using sandbox = await createMeasured(daemon, {
      drives: [{ id: drive.id }],
      rate_limit: { bandwidth_bytes_per_sec: RATE },
    });
    const onDrive = `of=${mountOf(drive)}/written oflag=direct`;
    await expectRate(RATE, () => diskRate(sandbox, `if=/dev/zero ${onDrive}`, 30));
    await expectRate(RATE, () => diskRate(sandbox, 'if=/dev/zero of=/written oflag=direct', 40));
    await expectRate(RATE, () => diskRate(sandbox, 'if=/written of=/dev/null iflag=direct', 40));
    await expectRate(RATE, () => measure(sandbox, 'get', SERVER, String(3 * RATE)));
    await expectRate(RATE, () => measure(sandbox, 'put', SERVER, String(3 * RATE)));
    const { json } = await daemon.client.call('GET', sandbox.path);
    expect(json).toMatchObject({ rate_limit: { bandwidth_bytes_per_sec: RATE, ops_per_sec: null } });
  });
});

describe('100 operations a second', () => {
  it('are what each disk gives at 4 KiB past the page cache, and packets are counted', async () => {
    const drive = await createDrive(daemon.client, 128);
    await using sandbox = await createMeasured(daemon, {
      drives: [{ id: drive.id }],
      rate_limit: { ops_per_sec: OPS, bandwidth_bytes_per_sec: 0 },
    });
    await expectRate(OPS, () => measure(sandbox, 'ops', '/dev/vda', '400'));
    await expectRate(OPS, () => measure(sandbox, 'ops', deviceOf(drive), '400'));
    const summary = await sandbox.sh(`ping -q -i 0.002 -c 500 -W 1 ${SERVER} || true`);
    const [, received = '', ms = ''] = /(\d+) received.* time (\d+)ms/.exec(summary) ?? [];
    expect(Number(received)).toBeGreaterThan(10);
    // What may pass at once comes on top.
    expect((Number(received) / Number(ms)) * 1000).toBeLessThan(OPS * 1.2);
  });
});

describe('without a limit', () => {
  it('all of it is much faster, and no limit of an earlier sandbox is left on its devices', async () => {
    await using sandbox = await createMeasured(daemon, {});
    expect(await diskRate(sandbox, 'if=/dev/zero of=/written oflag=direct', 64)).toBeGreaterThan(3 * RATE);
    expect(await measure(sandbox, 'get', SERVER, String(5 * RATE))).toBeGreaterThan(2 * RATE);
    expect(await measure(sandbox, 'put', SERVER, String(5 * RATE))).toBeGreaterThan(2 * RATE);
    expect(await measure(sandbox, 'ops', '/dev/vda', '1000')).toBeGreaterThan(3 * OPS);
    expect(await shaping()).toEqual([]);
  });
});

describe('a limit that is none', () => {
  it.each([
    {},
    { bandwidth_bytes_per_sec: 0 },
    { ops_per_sec: 0 },
    { bandwidth_bytes_per_sec: 0, ops_per_sec: 0 },
  ])('%j is refused', async (rate_limit) => {
    const { status, text } = await daemon.client.call('POST', '/sandboxes', { rate_limit });
    expect([status, text]).toEqual([400, expect.stringContaining('rate_limit: takes at least one of')]);
  });

  it.each([{ bandwidth_bytes_per_sec: -1 }, { ops_per_sec: 0.5 }, { ops_per_sec: 1e13 }, { iops: 1 }, 5])(
    '%j is refused',
    async (rate_limit) => {
      const { status, text } = await daemon.client.call('POST', '/sandboxes', { rate_limit });
      expect([status, text]).toEqual([400, expect.stringContaining('rate_limit')]);
    },
  );
});

describe('a daemon that was killed', () => {
  it('leaves limits that the next one takes away', async () => {
    await createMeasured(daemon, { rate_limit: { bandwidth_bytes_per_sec: RATE } });
    expect(await shaping()).not.toEqual([]);
    await daemon.kill();
    daemon = stack.use(await daemon.restart());
    expect(await shaping()).toEqual([]);
  });
});

/** What shapes packets on this host. */
async function shaping(): Promise<string[]> {
  const [qdiscs, devices] = await Promise.all([
    execute('tc', ['qdisc', 'show']),
    execute('ip', ['-brief', 'link', 'show', 'type', 'ifb']),
  ]);
  const lines = `${qdiscs.stdout}\n${devices.stdout}`.split('\n');
  return lines.filter((line) => /tbf|ingress|atoll_/.test(line));
}

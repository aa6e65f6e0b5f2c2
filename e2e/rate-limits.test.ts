import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Daemon } from './harness/daemon.ts';
import { createSandbox } from './harness/sandbox.ts';
import type { CreateBody, Sandbox } from './harness/sandbox.ts';
import { Outside, OUTSIDE } from './network/outside.ts';
import { createDrive, mountOf } from './storage/drives.ts';

const execute = promisify(execFile);
const PROGRAM = fileURLToPath(new URL('storage/throughput.py', import.meta.url));
const IN_GUEST = '/root/throughput.py';
const [SERVER] = OUTSIDE;
const RATE = 10_000_000;
const OPS = 100;

const stack = new AsyncDisposableStack();
let daemon: Daemon;

beforeAll(async () => {
  const outside = stack.use(await Outside.attach(`atoll-test-${process.pid}-out`));
  await outside.start(['python3', PROGRAM, 'serve', SERVER], 'ready');
  // The uplink has come after the set-up.
  await execute(process.execPath, ['host/network/setup.ts']);
  daemon = stack.use(await Daemon.start());
});
afterAll(() => stack.disposeAsync());

async function start(body: CreateBody): Promise<Sandbox> {
  const sandbox = await createSandbox(daemon.client, { mem_size_mib: 256, ...body });
  await daemon.client.call('PUT', `${sandbox.path}/files?path=${IN_GUEST}`, await readFile(PROGRAM));
  return sandbox;
}

/** Bytes or reads a second, as the guest itself measures them. */
async function measure(sandbox: Sandbox, ...args: string[]): Promise<number> {
  return Number(await sandbox.sh(`python3 ${IN_GUEST} ${args.join(' ')}`));
}

const SECONDS = 'python3 -c "import time; print(time.monotonic())"';
async function diskRate(sandbox: Sandbox, dd: string, mib: number): Promise<number> {
  const times = await sandbox.sh(`${SECONDS}; dd ${dd} bs=1M count=${mib} 2>/dev/null; ${SECONDS}`);
  const [from, to] = times.split('\n').map(Number);
  return (mib * 1024 * 1024) / ((to ?? NaN) - (from ?? NaN));
}

function expectAbout(actual: number, wanted: number): void {
  expect(actual).toBeGreaterThan(wanted * 0.85);
  expect(actual).toBeLessThan(wanted * 1.15);
}

describe('a bandwidth of 10 MB/s', () => {
  it('is what each disk and the network card give, each way, and is shown', async () => {
    const drive = await createDrive(daemon.client, 128);
    await using sandbox = await start({
      drives: [{ id: drive.id }],
      rate_limit: { bandwidth_bytes_per_sec: RATE },
    });
    const onDrive = `of=${mountOf(drive)}/written oflag=direct`;
    expectAbout(await diskRate(sandbox, `if=/dev/zero ${onDrive}`, 30), RATE);
    expectAbout(await diskRate(sandbox, 'if=/dev/zero of=/written oflag=direct', 40), RATE);
    expectAbout(await diskRate(sandbox, 'if=/written of=/dev/null iflag=direct', 40), RATE);
    expectAbout(await measure(sandbox, 'get', SERVER, String(3 * RATE)), RATE);
    expectAbout(await measure(sandbox, 'put', SERVER, String(3 * RATE)), RATE);
    const { json } = await daemon.client.call('GET', sandbox.path);
    expect(json).toMatchObject({ rate_limit: { bandwidth_bytes_per_sec: RATE, ops_per_sec: null } });
  });
});

describe('100 operations a second', () => {
  it('are what the disk gives at 4 KiB past the page cache, and packets are counted', async () => {
    await using sandbox = await start({ rate_limit: { ops_per_sec: OPS, bandwidth_bytes_per_sec: 0 } });
    expectAbout(await measure(sandbox, 'ops', '/dev/vda', '400'), OPS);
    // 100 packets of 1500 bytes are 150 kB; offloads on the card make some of them larger.
    const packets = `ping -q -i 0.002 -c 500 -W 1 ${SERVER} | grep -o '[0-9]* received'`;
    const received = parseInt(await sandbox.sh(`${packets} || true`), 10);
    // 500 in a second or more.
    expect(received).toBeGreaterThan(50);
    expect(received).toBeLessThan(350);
  });
});

describe('without a limit', () => {
  it('all of it is much faster, and no limit of an earlier sandbox is left on its devices', async () => {
    await using sandbox = await start({});
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
    await start({ rate_limit: { bandwidth_bytes_per_sec: RATE } });
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

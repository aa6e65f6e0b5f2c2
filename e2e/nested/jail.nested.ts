import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Daemon, startRefused } from '../harness/daemon.ts';
import { expectFailure } from '../harness/failure.ts';
import { until } from '../harness/poll.ts';
import { createSandbox, listSandboxes } from '../harness/sandbox.ts';
import type { Sandbox } from '../harness/sandbox.ts';
import { bringUp, takeSnapshot } from '../harness/snapshot.ts';
import { createDrive, mountOf } from '../storage/drives.ts';
import { monitors, setUpHost, sh, unit } from './host.ts';
import {
  bytesSent,
  execTimes,
  figureOf,
  limitOf,
  monitorOf,
  mountsOf,
  namespacesOf,
  remainsOf,
  rootOf,
  statusOf,
  summary,
} from './jail-lab.ts';
import type { Monitor } from './jail-lab.ts';

const NONE = '0000000000000000';
const MIB = 1024 * 1024;
const GONE_MS = 30_000;
const UNDER_WAY_MS = 60_000;

// More processors than the machine has.
const HOSTILE = { vcpu_count: 2, mem_size_mib: 160 };
const NEIGHBOUR = { vcpu_count: 1, mem_size_mib: 128 };
const EXECS = 10;

// Two sandboxes at a time, and two ids: each that is made has the ids of the one that ended before it.
const TWO = { SERVICE_TAP_POOL_SIZE: '2', SERVICE_ACCEL: 'kvm' };
const IDS = ['100000', '100001'];
const [ALL_IDS, TWO_IDS] = ['atoll:100000:65536', 'atoll:100000:2'];
const JAILED = { SERVICE_JAILER_ENABLED: 'true' };

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let neighbour: Sandbox;

// The neighbour is a fork of a snapshot that was taken without jails.
beforeAll(async () => {
  await setUpHost(JAILED);
  await sh(`sed -i 's/^${ALL_IDS}$/${TWO_IDS}/' /etc/subuid /etc/subgid`);
  stack.defer(() => sh(`sed -i 's/^${TWO_IDS}$/${ALL_IDS}/' /etc/subuid /etc/subgid`).then(() => undefined));
  stack.defer(() => unit.remove());
  daemon = await Daemon.start(TWO);
  stack.defer(() => daemon[Symbol.asyncDispose]());
  const source = await createSandbox(daemon.client, NEIGHBOUR);
  await source.sh('echo here >/run/kept');
  const snapshot = await takeSnapshot(daemon.client, source.id);
  await daemon.stop();
  daemon = await daemon.restart(JAILED);
  neighbour = await bringUp(daemon.client, `${snapshot}/fork`);
});

afterAll(() => stack.disposeAsync());

const idsOf = ({ status }: Monitor, kind: 'Uid' | 'Gid') => new Set(status[kind]?.split('\t'));

async function expectWell(): Promise<void> {
  daemon.assertRunning();
  expect((await daemon.client.call('GET', '/healthz')).status).toBe(200);
  expect(await neighbour.sh('echo well')).toBe('well');
}

async function expectGone(sandbox: Sandbox, monitor: Monitor): Promise<void> {
  const isGone = async () => (await remainsOf(daemon, sandbox, monitor)).length === 0;
  await until('nothing of the sandbox is left', isGone, GONE_MS);
  expect((await listSandboxes(daemon.client)).map(({ id }) => id)).toEqual([neighbour.id]);
}

test('a snapshot that was taken without jails comes up in one, with its memory', async () => {
  expect(await neighbour.sh('cat /run/kept')).toBe('here');
  const { json } = await daemon.client.call('GET', neighbour.path);
  expect(json).toMatchObject({ jailed: true });
});

describe('beside it another', () => {
  let other: Sandbox;
  let drive: Awaited<ReturnType<typeof createDrive>>;

  beforeAll(async () => {
    drive = await createDrive(daemon.client, 16);
    other = await createSandbox(daemon.client, { ...HOSTILE, drives: [{ id: drive.id }] });
  });

  test('each monitor is a user of its own, without a capability, in namespaces and a root of its own', async () => {
    const both = [await monitorOf(daemon, neighbour), await monitorOf(daemon, other)];

    for (const kind of ['Uid', 'Gid'] as const)
      expect(both.flatMap((monitor) => [...idsOf(monitor, kind)]).toSorted()).toEqual(IDS);
    const none = { CapInh: NONE, CapPrm: NONE, CapEff: NONE, CapBnd: NONE, CapAmb: NONE };
    for (const { status } of both)
      expect(status).toMatchObject({ ...none, NoNewPrivs: '1', Seccomp: '2', Seccomp_filters: '2' });

    const outside = await namespacesOf(daemon.pid);
    const inside = (await Promise.all(both.map(({ pid }) => namespacesOf(pid)))).flat();
    expect(new Set([...outside, ...inside]).size).toBe(outside.length + inside.length);

    const files = await readdir(`${daemon.stateDir}/drives`);
    expect(files).toEqual([expect.stringContaining(drive.id)]);
    const drives = [[], files.map((name) => `${daemon.stateDir}/drives/${name}`)];
    for (const [at, { id }] of [neighbour, other].entries()) {
      const pid = both[at]?.pid ?? 0;
      expect(['dev', 'lib', 'lib64', 'tmp', 'usr', 'var']).toEqual(expect.arrayContaining(await rootOf(pid)));
      const mounts = await mountsOf(pid);
      const writable = mounts.filter(({ isWritable }) => isWritable).map(({ path }) => path);
      const own = ['memory', 'root.qcow2'].map((name) => `${daemon.stateDir}/machines/${id}/${name}`);
      const all = ['/dev/kvm', '/dev/null', '/dev/urandom', ...own, ...(drives[at] ?? [])];
      expect(writable.toSorted()).toEqual(all.toSorted());
      expect(mounts.filter(({ type }) => ['proc', 'sysfs', 'cgroup2'].includes(type))).toEqual([]);
    }
  });

  test('it is limited as its machine is sized, keeps no snapshot, and works like any other', async () => {
    const monitor = await monitorOf(daemon, other);
    // SERVICE_JAILER_MEMORY_OVERHEAD_MIB and SERVICE_JAILER_IO_BYTES_PER_SEC as they are by default.
    expect(await limitOf(monitor, 'memory.max')).toBe(String((160 + 192) * MIB));
    expect(await limitOf(monitor, 'memory.swap.max')).toBe('0');
    expect(await limitOf(monitor, 'cpu.max')).toBe('200000 100000');
    expect(await limitOf(monitor, 'pids.max')).toBe('98');
    expect(await limitOf(monitor, 'io.max')).toMatch(/^\d+:\d+ rbps=536870912 wbps=536870912 /);

    const content_base64 = Buffer.from('kept for now').toString('base64');
    expect((await other.post('write-file', { path: '/root/note', content_base64 })).status).toBe(204);
    expect(await other.sh('cat /root/note; nproc')).toBe('kept for now2');
    expect(await other.sh(`cp /root/note ${mountOf(drive)} && cat ${mountOf(drive)}/note`)).toBe(
      'kept for now',
    );
    expectFailure(await other.post('snapshot', undefined), 400, 'JAILED_NOT_SNAPSHOTTABLE', other.id);
  });

  test('a guest that ends its monitor ends its own sandbox alone, and nothing of it is left', async () => {
    const monitor = await monitorOf(daemon, other);
    const before = await execTimes(neighbour, EXECS);
    // reboot(2) with LINUX_REBOOT_CMD_RESTART: the monitor exits at a reset.
    const reboot = 'import ctypes; ctypes.CDLL(None).reboot(0x01234567)';
    const answer = await other.post('exec', { command: 'python3', args: ['-c', reboot] });
    expectFailure(answer, 502, 'SANDBOX_UNREACHABLE', other.id);
    const after = await execTimes(neighbour, EXECS);
    await expectWell();
    console.log(`a neighbour's execs: ${summary(before)}; once a monitor had exited: ${summary(after)}`);
    await expectGone(other, monitor);
    expect((await other.destroy()).status).toBe(204);
  });
});

const FLOOD = `
import socket
card = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True: card.sendto(bytes(1400), ('10.213.0.1', 9))`;

/** Each with what shows that it is under way, and how much of that is enough. */
const ATTACKS = [
  {
    does: 'forks without end',
    argv: ['/bin/sh', '-c', 'bomb() { bomb | bomb & }; bomb'],
    effort: (monitor: Monitor) => figureOf(monitor, 'cpu.stat', 'usage_usec'),
    enough: 3_000_000,
  },
  {
    does: 'fills its memory',
    argv: ['/bin/sh', '-c', 'while :; do tail /dev/zero; done'],
    effort: async (monitor: Monitor) => Number(await limitOf(monitor, 'memory.peak')),
    enough: 32 * MIB,
  },
  {
    does: 'writes without end',
    argv: ['/bin/sh', '-c', 'while :; do dd if=/dev/zero of=/root/endless bs=1M count=64 conv=fsync; done'],
    effort: (monitor: Monitor) => figureOf(monitor, 'io.stat', 'wbytes'),
    enough: 16 * MIB,
  },
  {
    does: 'floods its network card',
    argv: ['python3', '-c', FLOOD],
    effort: bytesSent,
    enough: 2 * MIB,
  },
];

test.each(ATTACKS)(
  'beside a guest that $does a neighbour answers',
  async ({ does, argv, effort, enough }) => {
    await using hostile = await createSandbox(daemon.client, HOSTILE);
    const monitor = await monitorOf(daemon, hostile);
    const before = await execTimes(neighbour, EXECS);

    const start = await effort(monitor);
    const [command, ...args] = argv;
    // Ends with its sandbox, if not before.
    const attack = hostile.post('exec', { command, args }).catch(() => undefined);
    const isUnderWay = async () => (await effort(monitor)) - start > enough;
    await until('the attack is under way', isUnderWay, UNDER_WAY_MS);
    const during = await execTimes(neighbour, EXECS);
    await expectWell();
    console.log(`a neighbour's execs: ${summary(before)}; beside one that ${does}: ${summary(during)}`);

    const end = await daemon.client.call('DELETE', hostile.path);
    expect({ status: end.status, json: end.json }).toEqual({
      status: 200,
      json: { kept: false, snapshot_id: null },
    });
    await attack;
    await expectGone(hostile, monitor);
  },
);

test('no monitor outlives a daemon that is killed', async () => {
  const monitor = await monitorOf(daemon, neighbour);
  await daemon.kill();
  daemon = await daemon.restart({ SERVICE_ACCEL: 'tcg' });
  expect(await remainsOf(daemon, neighbour, monitor)).toEqual([]);
});

test('the next daemon makes jails again: an emulated guest runs in one, and is gone with a caller who does not wait for it', async () => {
  const caller = new AbortController();
  const { signal } = caller;
  const create = daemon.client.call('POST', '/sandboxes', NEIGHBOUR, { signal }).catch(() => undefined);
  await until('its monitor runs', async () => (await monitors()).length === 1, UNDER_WAY_MS);
  const [line = ''] = await monitors();
  expect(line).toContain('-accel tcg');
  const sandbox = { id: /-name atoll-(\S+)/.exec(line)?.[1] ?? '' };
  const monitor = await monitorOf(daemon, sandbox);
  expect(monitor.status).toMatchObject({ CapEff: NONE, CapBnd: NONE, NoNewPrivs: '1', Seccomp: '2' });
  // It is emulated by an emulated processor: its boot would take minutes.
  const hasRun = async () => (await figureOf(monitor, 'cpu.stat', 'usage_usec')) > 5_000_000;
  await until('its guest has run for a while', hasRun, UNDER_WAY_MS);

  caller.abort();
  await create;
  const isGone = async () => (await remainsOf(daemon, sandbox, monitor)).length === 0;
  await until('nothing of the sandbox is left', isGone, GONE_MS);
  daemon.assertRunning();
  await daemon.stop();
});

test('a user without subordinate ids is refused, by the names of what is missing', async () => {
  const { code, stderr } = await startRefused({
    ...TWO,
    ...JAILED,
    SERVICE_ACCEL: 'tcg',
    SERVICE_USER: 'games',
  });
  expect(code).toBe(1);
  expect(stderr.trim().split('\n')).toEqual([
    expect.stringContaining('/etc/subuid has no 2 consecutive ids of games'),
    expect.stringContaining('/etc/subgid has no 2 consecutive ids of games'),
  ]);
});

test('the systemd unit makes jails, holds no more itself than without them, and stops in order', async () => {
  await unit.start({ ...TWO, ...JAILED });
  const jailer = { pid: Number(await unit.property('MainPID')), stateDir: '/var/lib/atoll' };
  const own = await statusOf(jailer.pid);
  for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapAmb']) expect(own[set]).toBe('0000000000001000');
  const sandbox = await createSandbox(unit.client, NEIGHBOUR);
  const monitor = await monitorOf(jailer, sandbox);
  expect(IDS).toEqual(expect.arrayContaining([...idsOf(monitor, 'Uid')]));
  expect(monitor.status).toMatchObject({ CapEff: NONE, CapBnd: NONE, NoNewPrivs: '1', Seccomp: '2' });
  expect(await limitOf(monitor, 'memory.max')).toBe(String((128 + 192) * MIB));
  expect(await sandbox.sh('id -un')).toBe('root');

  await sh('systemctl stop atoll.service');
  expect(await unit.property('ActiveState')).toBe('inactive');
  expect(await unit.property('Result')).toBe('success');
  expect(await unit.property('ExecMainStatus')).toBe('0');
  expect(await remainsOf(jailer, sandbox, monitor)).toEqual([]);
});

test('the unit without what set-up adds for jails is refused, with all that it lacks', async () => {
  await sh('rm /etc/systemd/system/atoll.service.d/atoll-jail.conf');
  await sh('systemctl daemon-reload; systemctl start atoll.service');
  await sh('until [ "$(systemctl show --property=NRestarts --value atoll.service)" != 0 ]; do sleep 1; done');
  await sh('systemctl stop atoll.service');
  const said = await sh('journalctl --boot --unit atoll.service --output cat');
  expect(said).toMatch(/SERVICE_JAILER_ENABLED: \/sys\/fs\/cgroup\/\S+ is not delegated to this user/);
  expect(said).toContain('SERVICE_JAILER_ENABLED: newuidmap can gain nothing');
  expect(said).toContain('SERVICE_JAILER_ENABLED: newuidmap can gain too little');
});

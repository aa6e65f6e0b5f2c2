import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { H2GuestAgent } from '../adapters/agent-h2/agent.ts';
import { LocalSnapshots } from '../adapters/storage-local/snapshots.ts';
import { LocalStorage } from '../adapters/storage-local/storage.ts';
import { QemuVmm } from '../adapters/vmm-qemu/vmm.ts';
import { expect, test } from 'vitest';
import { loadConfig } from '../config.ts';
import { Deadline } from '../lib/deadline.ts';
import { patient } from './patience.ts';
import { agentSuite } from './suites/agent.ts';
import { snapshotSuite } from './suites/snapshots.ts';
import { storageSuite } from './suites/storage.ts';
import { vmmSuite } from './suites/vmm.ts';

const SET_UP_MS = patient(60_000);
const { config } = loadConfig(process.env);

/** The real adapters on a directory of their own. */
async function setUp() {
  await using stack = new AsyncDisposableStack();
  using deadline = Deadline.in(SET_UP_MS, 'the set-up');
  const dir = await mkdtemp(join(tmpdir(), 'atoll-contract-'));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const storage = await LocalStorage.open(dir, config.baseRootfs, deadline.signal);
  const vmm = await QemuVmm.create(
    {
      kernel: config.kernelPath,
      initramfs: config.initramfsPath,
      accelerator: config.accelerator,
      stateDir: dir,
    },
    deadline,
  );
  stack.defer(() => vmm.reclaim(storage.machinesDir).then(() => undefined));
  const held = stack.move();
  return { storage, vmm, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

storageSuite('LocalStorage', setUp);

snapshotSuite('LocalSnapshots', async () => {
  const stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'atoll-contract-'));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const storage = await LocalStorage.open(dir, config.baseRootfs, AbortSignal.timeout(SET_UP_MS));
  const reopen = async () =>
    stack.use(
      await LocalSnapshots.open({
        snapshotsDir: join(dir, 'snapshots'),
        archiveDir: join(dir, 'archive'),
        machinesDir: storage.machinesDir,
        onFault: (id, error) => expect.unreachable(`layer ${id}: ${String(error)}`),
      }),
    );
  const snapshots = await reopen();
  return { storage, snapshots, reopen, [Symbol.asyncDispose]: () => stack.disposeAsync() };
});

test('machines run on the accelerator that is asked for', async () => {
  await using it = await setUp();
  using deadline = Deadline.in(SET_UP_MS, 'the boot');
  const { accelerator } = it.vmm.profile;
  console.log(`QemuVmm: SERVICE_ACCEL=${config.accelerator}, machines run under ${accelerator}`);
  if (config.accelerator !== 'auto') expect(accelerator).toBe(config.accelerator);
  const id = randomUUID();
  const files = await it.storage.createMachine(id, deadline.signal);
  const { pid } = await it.vmm.boot({ id, ...files, vcpuCount: 1, memSizeMib: 128 }, deadline);
  expect(await readFile(`/proc/${pid}/cmdline`, 'utf8')).toContain(`\0-accel\0${accelerator}\0`);
});

vmmSuite('QemuVmm', async () => ({ ...(await setUp()), runs: (pid) => existsSync(`/proc/${pid}`) }));

agentSuite('H2GuestAgent with a real guest', async () => {
  const it = await setUp();
  using deadline = Deadline.in(SET_UP_MS, 'the boot');
  const id = randomUUID();
  const files = await it.storage.createMachine(id, deadline.signal);
  const machine = await it.vmm.boot({ id, ...files, vcpuCount: 2, memSizeMib: 256 }, deadline);
  const agent = await (await new H2GuestAgent().attach(machine.agentSocket, deadline)).open(deadline);
  return { ...it, agent, crash: () => machine.stop() };
});

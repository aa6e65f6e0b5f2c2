import { Deadline } from '../lib/deadline.ts';
import { FakeAgent } from './fake-agent.ts';
import { join } from 'node:path';
import { FakeSnapshots } from './fake-snapshots.ts';
import { FakePools } from './fake-pools.ts';
import { FakeStorage } from './fake-storage.ts';
import { FakeVmm } from './fake-vmm.ts';
import { agentSuite } from './suites/agent.ts';
import { poolStoreSuite } from './suites/pools.ts';
import { snapshotSuite } from './suites/snapshots.ts';
import { FakeHistory } from './fake-history.ts';
import { historySuite } from './suites/history.ts';
import { storageSuite } from './suites/storage.ts';
import { vmmSuite } from './suites/vmm.ts';

vmmSuite('the fake Vmm', async () => {
  const [vmm, storage] = [new FakeVmm(), await FakeStorage.open()];
  const runs = (pid: number) => [...vmm.machines.values()].some((machine) => machine.pid === pid);
  return { vmm, storage, runs, [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose]() };
});

storageSuite('the fake Storage', async () => {
  const storage = await FakeStorage.open();
  return { storage, [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose]() };
});

agentSuite('the fake GuestAgent', async () => {
  const fake = new FakeAgent();
  using deadline = Deadline.in(1000, 'the connection');
  const agent = await (await fake.attach('guest', deadline)).open(deadline);
  const crash = () => Promise.resolve(fake.sessions.get('guest')?.lose());
  return { agent, crash, [Symbol.asyncDispose]: () => Promise.resolve() };
});

snapshotSuite('the fake SnapshotStore', async () => {
  const storage = await FakeStorage.open();
  const open = () => FakeSnapshots.open(join(storage.machinesDir, '../snapshots'), storage.machinesDir);
  const snapshots = await open();
  return {
    storage,
    snapshots,
    reopen: open,
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  };
});

historySuite('the fake History', () => new FakeHistory());

poolStoreSuite('the fake PoolStore', () => {
  const store = new FakePools();
  return { store, reopen: () => store };
});

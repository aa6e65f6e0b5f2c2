import { FakeDrives } from './fake-drives.ts';
import { drivesSuite } from './suites/drives.ts';

drivesSuite('the fake DriveStore', async () => {
  const store = await FakeDrives.open();
  return {
    store,
    reopen: () => new FakeDrives(store.drivesDir),
    cutOff: ({ id }) => Promise.resolve(void store.cutOff.add(id)),
    write: ({ id }) => Promise.resolve(void store.writes.set(id, 1)),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
});

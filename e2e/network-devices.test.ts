import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Client } from './harness/client.ts';
import { Daemon } from './harness/daemon.ts';
import { expectFailure } from './harness/failure.ts';
import { addressOf, createSandbox } from './harness/sandbox.ts';
import { bringUp, deleteSnapshots, listSnapshots, takeSnapshot } from './harness/snapshot.ts';

const SMALL = { mem_size_mib: 256, vcpu_count: 1 };

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let client: Client;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start({ SERVICE_TAP_POOL_SIZE: '2' }));
  client = daemon.client;
});
afterAll(() => stack.disposeAsync());

it('two network devices serve two live sandboxes, beside any number of held snapshots', async () => {
  const stopped: { snapshot: string; address: string }[] = [];
  for (const at of [1, 2, 3]) {
    const sandbox = await createSandbox(client, { ...SMALL, name: `stopped-${at}` });
    await sandbox.sh(`echo ${at} >/root/mine`);
    const address = await addressOf(sandbox);
    stopped.push({ snapshot: await takeSnapshot(client, sandbox.id), address });
  }
  const [one, two] = [await createSandbox(client, SMALL), await createSandbox(client, SMALL)];
  const addresses = [await addressOf(one), await addressOf(two), ...stopped.map(({ address }) => address)];
  expect(new Set(addresses).size).toBe(5);

  for (const { snapshot } of stopped) {
    const refused = await client.call('POST', `/snapshots/${snapshot}/resume`);
    expectFailure(refused, 503, 'NETWORK_POOL_EXHAUSTED', '2');
  }
  expectFailure(await client.call('POST', '/sandboxes', SMALL), 503, 'NETWORK_POOL_EXHAUSTED', '2');
  expect((await listSnapshots(client)).map(({ id }) => id)).toEqual(stopped.map(({ snapshot }) => snapshot));

  await one.destroy();
  // On whatever device is free: each has its own address there, and reaches its gateway.
  for (const [at, { snapshot, address }] of stopped.entries()) {
    await using resumed = await bringUp(client, `${snapshot}/resume`);
    expect(await resumed.sh('cat /root/mine')).toBe(String(at + 1));
    expect(await addressOf(resumed)).toBe(address);
    await resumed.sh('python3 -c "import socket; socket.create_connection((\'10.213.0.1\', 53), 5)"');
  }
  await two.destroy();
  await deleteSnapshots(client);
  await daemon.assertClean();
});

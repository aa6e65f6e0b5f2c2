import { afterEach, expect, it } from 'vitest';
import { Daemon } from './harness/daemon.ts';
import { expectFailure } from './harness/failure.ts';
import { addressesWithPolicy } from './harness/host.ts';
import { addressOf, createSandbox } from './harness/sandbox.ts';
import {
  bringUp,
  deleteSnapshots,
  listCheckpoints,
  listSnapshots,
  takeSnapshot,
} from './harness/snapshot.ts';

const SMALL = { mem_size_mib: 256, vcpu_count: 1 };
let stack = new AsyncDisposableStack();

afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

it('finds snapshots, checkpoints, names and policies again', async () => {
  const first = stack.use(await Daemon.start());
  const closed = { mode: 'deny_all' } as const;
  const kept = await createSandbox(first.client, { ...SMALL, name: 'kept' });
  await kept.sh('echo mine >/root/mine');
  const address = await addressOf(kept);
  const gone = await takeSnapshot(first.client, kept.id);
  const id = await takeSnapshot(first.client, (await bringUp(first.client, `${gone}/resume`)).id);
  const other = await first.client.call('POST', '/sandboxes', { ...SMALL, egress: closed });
  const otherId = await takeSnapshot(first.client, (other.json as { id: string }).id);
  const live = await createSandbox(first.client, SMALL);
  await first.kill();

  const second = stack.use(await first.restart());
  expect((await listSnapshots(second.client)).map((each) => each.id)).toEqual([id, otherId]);
  expect((await listCheckpoints(second.client)).map((each) => each.id)).toEqual([gone]);
  // What is held keeps its address; its policy lies dormant.
  expect(await addressesWithPolicy()).toEqual([]);
  const stranger = await createSandbox(second.client, SMALL);
  expect(await addressOf(stranger)).not.toBe(address);
  await stranger.destroy();
  expectFailure(await second.client.call('GET', live.path), 404, 'NOT_FOUND');
  expectFailure(await second.client.call('POST', '/sandboxes', { name: 'kept' }), 409, 'NAME_TAKEN', id);
  const resumed = await bringUp(second.client, `${id}/resume`);
  expect(await resumed.sh('cat /root/mine')).toBe('mine');
  expect(await addressOf(resumed)).toBe(address);
  const again = await bringUp(second.client, `${otherId}/resume`);
  const shown = await second.client.call('GET', again.path);
  expect(shown.json).toMatchObject({ egress: { mode: 'deny_all' } });
  expect(await addressesWithPolicy()).toHaveLength(2);
  await resumed.destroy();
  await again.destroy();
  await deleteSnapshots(second.client);
  await second.stop();
});

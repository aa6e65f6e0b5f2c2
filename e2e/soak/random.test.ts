import { expect, it } from 'vitest';
import { FAULT_POINTS } from '../../packages/daemon/src/lib/fault-points.ts';
import { FaultDesk } from '../faults/desk.ts';
import { listSandboxes } from '../harness/sandbox.ts';
import { listDrives } from '../storage/drives.ts';
import { Chance } from './chance.ts';
import { RandomRun } from './random.ts';

// A thousand of them take half an hour.
const OPERATIONS = Number(process.env.ATOLL_TEST_OPERATIONS ?? 60);
const SEED = Number(process.env.ATOLL_TEST_SEED ?? Date.now() % 1_000_000);

it(
  `${OPERATIONS} random operations with random faults leave books that equal the host (ATOLL_TEST_SEED=${SEED})`,
  { timeout: 7_200_000 },
  async () => {
    console.log(`ATOLL_TEST_SEED=${SEED} ATOLL_TEST_OPERATIONS=${OPERATIONS}`);
    await using desk = await FaultDesk.start({
      SERVICE_BOOT_TIMEOUT_SECS: '30',
      SERVICE_SNAPSHOT_TIMEOUT_SECS: '30',
      SERVICE_HISTORY_KEEP_LAST: '2',
    });
    const run = new RandomRun(desk, new Chance(SEED), FAULT_POINTS);
    try {
      await run.run(OPERATIONS);
    } catch (error) {
      console.log(run.journal.join('\n'));
      throw error;
    } finally {
      console.log(JSON.stringify(run.tally));
    }
    await desk.clear();
    for (const { id } of await listDrives(desk.client))
      expect((await desk.client.call('DELETE', `/drives/${id}`)).status).toBe(204);
    expect(await listSandboxes(desk.client)).toEqual([]);
    await desk.clear();
    await desk.daemon.stop();
  },
);

import { afterAll, beforeAll, expect, it } from 'vitest';
import { Lab } from './lab.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await Lab.start();
});
afterAll(() => lab[Symbol.asyncDispose]());

it('history lists ended and live ones', async () => {
  const { history } = lab.sdk;
  const connect = { client: lab.client };
  const gone = await lab.create({ tags: { first: 'yes' } });
  await gone.stop({ keep: false });
  const kept = await lab.create();
  const { snapshot_id } = await kept.stop();
  await using live = await lab.create({ name: 'live' });
  const records = await history(connect);
  expect(records.map(({ id, end_reason }) => [id, end_reason])).toEqual([
    [live.id, null],
    [kept.id, 'snapshotted'],
    [gone.id, 'destroyed'],
  ]);
  expect(records[1]?.final_snapshot_id).toBe(snapshot_id);
  expect(records[2]?.tags).toEqual({ first: 'yes' });
  expect((await history({ ...connect, live_only: true })).map(({ name }) => name)).toEqual(['live']);
  expect(await history({ ...connect, limit: 2 })).toHaveLength(2);
});

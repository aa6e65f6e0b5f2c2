import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../harness/poll.ts';
import { Lab, SIZE, thrown } from './lab.ts';

const FILLED_MS = 90_000;
let lab: Lab;

beforeAll(async () => {
  lab = await Lab.start();
});
afterAll(() => lab[Symbol.asyncDispose]());

it('create list and delete a pool', async () => {
  const { Pool, ConflictError, NotFoundError } = lab.sdk;
  const connect = { client: lab.client };
  const pool = await Pool.create({ id: 'warm', ...SIZE, warm_count: 1 }, connect);
  expect(pool).toMatchObject({ id: 'warm', ...SIZE, warm_count: 1, max_count: null, image_id: null });
  expect(await thrown(Pool.create({ id: 'warm', warm_count: 0 }, connect))).toBeInstanceOf(ConflictError);
  const stands = async () => (await Pool.list(connect))[0];
  await until('it is filled', async () => (await stands())?.warm_ready === 1, FILLED_MS);
  await using sandbox = await lab.create({ name: 'claimed' });
  expect((await stands())?.claimed).toBe(1);
  expect((await sandbox.exec('echo', ['warm'])).stdout).toBe('warm\n');
  await pool.delete();
  expect(await Pool.list(connect)).toEqual([]);
  expect(await thrown(Pool.delete('warm', connect))).toBeInstanceOf(NotFoundError);
});

import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { AgentOutdated } from '../ports/agent.ts';
import { fakeService } from '../testing/fake-service.ts';
import { Activity } from './activity.ts';
import { Guests } from './guests.ts';

const SIZES = { vcpuCount: 2, maxVcpuCount: 4, memSizeMib: 128, maxMemSizeMib: 256 };
const { signal } = new AbortController();

async function setUp() {
  const service = await fakeService({ sizes: SIZES });
  const { id } = await service.services.sandboxes.create({}, signal);
  const activity = new Activity();
  const guests = new Guests(service.registry, activity);
  return { id, activity, guests, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
}

test('a sandbox is in use until what was opened of it is closed', async () => {
  await using it = await setUp();
  const bytes = Readable.from([Buffer.from('content')]);
  const { body } = await it.guests.open(it.id, () => Promise.resolve({ body: bytes }));
  expect(it.activity.idleMs(it.id)).toBe(0);
  await buffer(body);
  await expect.poll(() => it.activity.idleMs(it.id)).toBeGreaterThan(0);
});

test('a sandbox of which nothing could be opened is not in use', async () => {
  await using it = await setUp();
  const call = it.guests.open(it.id, () => Promise.reject(new Error('refused')));
  await expect(call).rejects.toThrow('refused');
  await expect.poll(() => it.activity.idleMs(it.id)).toBeGreaterThan(0);
});

test('an agent that is too old for what is asked is a failure of its own', async () => {
  await using it = await setUp();
  const call = it.guests.reach(it.id, () => Promise.reject(new AgentOutdated('no route POST /files/pack')));
  await expect(call).rejects.toMatchObject({ code: 'AGENT_OUTDATED', status: 409 });
});

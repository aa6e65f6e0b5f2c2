import { Duplex, PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test, vi } from 'vitest';
import { GuestError } from '../ports/agent.ts';
import { fakeService } from '../testing/fake-service.ts';

const SIZES = { vcpuCount: 2, maxVcpuCount: 4, memSizeMib: 128, maxMemSizeMib: 256 };
const TIMEOUT_MS = 10_000;
const PORT = 8000;

/** A service with one sandbox, whose agent finds a server that says "by the agent". */
async function setUp(body = {}) {
  const service = await fakeService({ sizes: SIZES });
  const { sandboxes, snapshots, previews } = service.services;
  const { id } = await sandboxes.create(body, new AbortController().signal);
  const { agent, lease } = service.registry.live(id, 'be reached').running;
  const { network } = service.fakes;
  const asked = vi.spyOn(network, 'connect');
  agent.connect = () => Promise.resolve(Duplex.from(['by the agent']));
  const listenOnCard = () => network.servers.set(`${lease.address}:${PORT}`, 'over the card');
  const dial = (signal?: AbortSignal, port = PORT) => previews.connect(id, port, TIMEOUT_MS, signal);
  return {
    ...{ id, agent, lease, network, asked, snapshots, listenOnCard, dial },
    answer: async (port?: number) => text(await dial(undefined, port)),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

test.each([
  ['ECONNREFUSED', 'NOTHING_LISTENING'],
  ['ECONNRESET', 'PREVIEW_BROKEN'],
])('a connection that fails with %s is a failure of the server: %s', async (errno, code) => {
  await using it = await setUp();
  it.agent.connect = (port) => Promise.reject(new GuestError(errno, `connect ${port}: ${errno}`));
  await expect(it.dial()).rejects.toMatchObject({ code, status: 502 });
});

test('a connection goes over the card where a server listens there, else by the agent', async () => {
  await using it = await setUp();
  it.listenOnCard();
  expect(await it.answer()).toBe('over the card');
  expect(await it.answer(PORT + 1)).toBe('by the agent');
});

test.each(['refuses', 'does not answer'])(
  'a port that %s on the card is not asked again at once',
  async (how) => {
    await using it = await setUp();
    if (how === 'does not answer') it.network.rules.clear();
    for (let time = 0; time < 3; time += 1) expect(await it.answer()).toBe('by the agent');
    expect(it.asked).toHaveBeenCalledOnce();
  },
);

test('limits on a sandbox’s network do not hold for its previews', async () => {
  await using it = await setUp({ rate_limit: { ops_per_sec: 1 } });
  it.listenOnCard();
  expect(await it.answer()).toBe('by the agent');
  expect(it.asked).not.toHaveBeenCalled();
});

test('aborting ends the wait for the guest, and the agent is not asked', async () => {
  await using it = await setUp();
  it.network.rules.clear();
  it.agent.connect = vi.fn(it.agent.connect);
  const leaving = new AbortController();
  const dialling = it.dial(leaving.signal);
  leaving.abort(new Error('the client went away'));
  await expect(dialling).rejects.toThrow('the client went away');
  expect(it.agent.connect).not.toHaveBeenCalled();
});

test('what goes over the card is reset before the guest is asked to be still', async () => {
  await using it = await setUp();
  const [made, late] = [new PassThrough(), new PassThrough()];
  const arrival = Promise.withResolvers<Duplex>();
  it.asked.mockResolvedValueOnce(made).mockReturnValueOnce(arrival.promise);
  expect(await it.dial()).toBe(made);
  const dialling = it.dial();
  const quiesce = it.agent.quiesce.bind(it.agent);
  const wasReset: boolean[] = [];
  it.agent.quiesce = (signal) => {
    wasReset.push(made.destroyed);
    arrival.resolve(late);
    return quiesce(signal);
  };
  await it.snapshots.take(it.id);
  await dialling;
  expect([...wasReset, late.destroyed]).toEqual([true, true]);
});

import { expect, test } from 'vitest';
import { Deadline } from '../lib/deadline.ts';
import type { AgentLine, Identity, Names } from '../ports/agent.ts';
import { FakeSession } from '../testing/fake-agent.ts';
import { wakeGuest } from './identity.ts';

const ENV = { TOKEN: 'secret' };
const NAMES = { hostname: 'web', machineId: '0123456789abcdef0123456789abcdef' };

/** What a guest with an agent of that generation is told, in turn, when it is woken with such news. */
async function told(generation: number, news: Identity): Promise<[word: string, of: Identity | undefined][]> {
  const heard: [string, Identity | undefined][] = [];
  const session = Object.assign(new FakeSession(), {
    configure: ({ clockUnixNs, entropy, ...rest }: Identity) => {
      const isAwakened = clockUnixNs !== undefined && entropy?.length === 32;
      heard.push([isAwakened ? 'configure, with the time and randomness' : 'configure', rest]);
      return Promise.resolve();
    },
  });
  const line: AgentLine = {
    open: () => {
      heard.push(['open', undefined]);
      return Promise.resolve(session);
    },
    awaken: (names: Names | undefined) => {
      heard.push(['awaken', names]);
      return Promise.resolve(session);
    },
    close: () => undefined,
  };
  using deadline = Deadline.in(5000, 'the test');
  expect(await wakeGuest(line, generation, news, deadline)).toBe(session);
  return heard;
}

test('an agent of now is told who it is as it is woken, and the rest behind that', async () => {
  expect(await told(7, {})).toEqual([['awaken', undefined]]);
  expect(await told(7, NAMES)).toEqual([['awaken', NAMES]]);
  expect(await told(7, { env: ENV })).toEqual([
    ['awaken', undefined],
    ['configure', { env: ENV }],
  ]);
  expect(await told(8, { ...NAMES, env: ENV })).toEqual([
    ['awaken', NAMES],
    ['configure', { env: ENV }],
  ]);
});

test('an agent that came with an older snapshot is told what it understands, as it does', async () => {
  expect(await told(6, {})).toEqual([['awaken', undefined]]);
  expect(await told(6, { ...NAMES, env: ENV })).toEqual([
    ['awaken', undefined],
    ['configure', { ...NAMES, env: ENV }],
  ]);
  for (const news of [{}, NAMES]) {
    const [opened, configured] = await told(5, news);
    expect([opened, configured]).toEqual([
      ['open', undefined],
      ['configure, with the time and randomness', news],
    ]);
  }
});

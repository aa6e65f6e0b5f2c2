import { expect, it } from 'vitest';
import { Identities } from './identities.ts';
import { identityAt, planNetwork } from './plan.ts';

const plan = planNetwork({
  ...{ bridge: 'br1', cidr: '10.9.0.1/29', tapPrefix: 'tap', poolSize: 2 },
  ...{ dnsPort: 7753, metadataPort: 7780 },
});
const at = (number: number) => identityAt(plan, number);

it('gives those that nobody had, then the longest unused, and none twice', () => {
  const identities = new Identities(plan);
  expect(identities.take()).toEqual(at(0));
  expect(identities.take()).toEqual(at(1));
  for (const number of [1, 0, 0]) identities.release(at(number));
  expect([2, 3, 4].map(() => identities.take())).toEqual([at(2), at(3), at(4)]);
  expect(identities.take()).toEqual(at(1));
  expect(identities.take()).toEqual(at(0));
  expect(identities.take()).toBeUndefined();
});

it('gives none that is held, and one that was spared last', () => {
  const identities = new Identities(plan);
  expect(identities.hold(at(1))).toBe(true);
  expect(identities.hold(at(1))).toBe(false);
  for (const number of [0, 1]) identities.spare(at(number));
  expect([1, 2, 3].map(() => identities.take())).toEqual([at(2), at(3), at(4)]);
  expect(identities.take()).toEqual(at(0));
  expect(identities.take()).toBeUndefined();
  identities.release(at(1));
  expect([identities.has(at(1)), identities.has(at(2))]).toEqual([false, true]);
  expect(identities.take()).toEqual(at(1));
});

it('knows nothing of another network', () => {
  const identities = new Identities(plan);
  const foreign = { ...at(0), gateway: '10.9.0.2' };
  identities.spare(foreign);
  identities.release(foreign);
  expect([identities.hold(foreign), identities.has(foreign)]).toEqual([false, false]);
  expect(identities.take()).toEqual(at(0));
});

import { afterAll, beforeAll } from 'vitest';
import { Lab } from '../../../../../e2e/network/lab.ts';
import type { HeldLease, NetworkLease } from '../../ports/network.ts';
import { networkSuite } from '../../testing/suites/network.ts';

const SIZE = 3;
let lab: Lab;

beforeAll(async () => {
  lab = await Lab.bare({ poolSize: SIZE });
  await lab.setUp();
});
afterAll(() => lab[Symbol.asyncDispose]());

// In a namespace, as a user of its own: so it is another process, and its answers are JSON.
networkSuite('LinuxNetwork', async () => {
  await lab.startDriver();
  const { driver } = lab;
  const network = {
    lease: async () => (await driver.call('lease')) as NetworkLease,
    hold: async (lease: NetworkLease) => (await driver.call('hold', { lease })) as boolean,
    applyEgress: async (lease: NetworkLease, policy: unknown, signal: AbortSignal) => {
      await driver.call('applyEgress', { lease, policy, abort: signal.aborted });
    },
    applyRateLimit: async (lease: NetworkLease, limit: unknown, signal: AbortSignal) => {
      await driver.call('applyRateLimit', { lease, limit, abort: signal.aborted });
    },
    release: async (lease: NetworkLease) => {
      await driver.call('release', { lease });
    },
    reclaim: async (held: readonly HeldLease[]) => (await driver.call('reclaim', { held })) as HeldLease[],
  };
  return { network, size: SIZE, [Symbol.asyncDispose]: () => driver[Symbol.asyncDispose]() };
});

import { afterAll, beforeAll } from 'vitest';
import { Lab } from '../../../../../e2e/network/lab.ts';
import type { NetworkIdentity, NetworkLease, NetworkRules } from '../../ports/network.ts';
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
    hold: async (identity: NetworkIdentity) => (await driver.call('hold', { identity })) as boolean,
    attach: async (identity: NetworkIdentity) => (await driver.call('attach', { identity })) as NetworkLease,
    open: async (lease: NetworkLease, rules: NetworkRules, signal: AbortSignal) => {
      await driver.call('open', { lease, rules, abort: signal.aborted });
    },
    connect: async (lease: NetworkLease, port: number, ms: number) =>
      (await driver.call('connect', { lease, port, ms })) as string,
    detach: async (lease: NetworkLease) => {
      await driver.call('detach', { lease });
    },
    release: async (identity: NetworkIdentity) => {
      await driver.call('release', { identity });
    },
    reclaim: async (held: readonly NetworkIdentity[], used: readonly NetworkIdentity[] = []) =>
      (await driver.call('reclaim', { held, used })) as NetworkIdentity[],
  };
  const serve = async (lease: NetworkLease, port: number) => (await lab.addGuest(lease)).listen(port);
  return { network, serve, size: SIZE, [Symbol.asyncDispose]: () => driver[Symbol.asyncDispose]() };
});

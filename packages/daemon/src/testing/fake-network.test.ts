import type { NetworkLease } from '../ports/network.ts';
import { FakeNetwork } from './fake-network.ts';
import { networkSuite } from './suites/network.ts';

const SIZE = 3;

networkSuite('the fake Network', () => {
  const fake = new FakeNetwork(SIZE);
  const network = {
    lease: () => Promise.try(() => fake.lease()),
    hold: (lease: NetworkLease) => Promise.try(() => fake.hold(lease)),
    applyEgress: fake.applyEgress.bind(fake),
    applyRateLimit: fake.applyRateLimit.bind(fake),
    release: fake.release.bind(fake),
    reclaim: fake.reclaim.bind(fake),
  };
  return Promise.resolve({ network, size: SIZE, [Symbol.asyncDispose]: () => Promise.resolve() });
});

import { text } from 'node:stream/consumers';
import type { NetworkIdentity, NetworkLease } from '../ports/network.ts';
import { FakeNetwork } from './fake-network.ts';
import { networkSuite } from './suites/network.ts';

const SIZE = 3;

networkSuite('the fake Network', () => {
  const fake = new FakeNetwork(SIZE);
  const network = {
    lease: () => Promise.try(() => fake.lease()),
    hold: (identity: NetworkIdentity) => Promise.try(() => fake.hold(identity)),
    attach: (identity: NetworkIdentity) => Promise.try(() => fake.attach(identity)),
    open: fake.open.bind(fake),
    connect: async (lease: NetworkLease, port: number, ms: number) =>
      text(await fake.connect(lease, port, AbortSignal.timeout(ms))),
    detach: fake.detach.bind(fake),
    release: (identity: NetworkIdentity) => Promise.try(() => fake.release(identity)),
    reclaim: (held: readonly NetworkIdentity[], used: readonly NetworkIdentity[] = []) =>
      fake.reclaim(held, used),
  };
  const serve = ({ address }: NetworkLease, port: number) =>
    Promise.try(() => void fake.servers.set(`${address}:${port}`, 'reached'));
  return Promise.resolve({ network, serve, size: SIZE, [Symbol.asyncDispose]: () => Promise.resolve() });
});

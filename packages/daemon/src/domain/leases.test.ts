import { expect, test } from 'vitest';
import { Deadline } from '../lib/deadline.ts';
import { FakeNetwork } from '../testing/fake-network.ts';
import { Leases } from './leases.ts';

test('a fork whose device is still being given back frees its snapshot: the next one waits for that', async () => {
  const network = new FakeNetwork(2);
  const leases = new Leases(network);
  using deadline = Deadline.in(5000, 'the test');
  const lease = await leases.take('sandbox first', deadline);
  leases.keep(lease, 'snapshot s');

  const given = Promise.withResolvers<undefined>();
  const detach = network.detach.bind(network);
  network.detach = async (each) => {
    await given.promise;
    await detach(each);
  };
  const ending = leases.end(lease, 'sandbox first');
  expect(leases.forkOf(lease, 's')).toBeUndefined();
  const claiming = leases.claim(lease, 's', 'sandbox second', deadline);
  given.resolve(undefined);
  await ending;
  expect(await claiming).toMatchObject({ address: lease.address });
  expect(leases.holders(lease)).toEqual(['snapshot s', 'sandbox second']);
});

test('a device that cannot be given back keeps the identity from others', async () => {
  const network = new FakeNetwork(2);
  const leases = new Leases(network);
  using deadline = Deadline.in(5000, 'the test');
  const lease = await leases.take('sandbox first', deadline);
  leases.keep(lease, 'snapshot s');
  network.detach = () => Promise.reject(new Error('no'));
  await expect(leases.end(lease, 'sandbox first')).rejects.toThrow('no');
  await expect(leases.claim(lease, 's', 'sandbox second', deadline)).rejects.toMatchObject({
    code: 'IDENTITY_HELD',
  });
});

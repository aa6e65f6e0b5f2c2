import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Guest } from './guest.ts';
import { GATEWAY, HOST_ADDRESSES, Lab } from './lab.ts';
import { NAME, OUTSIDE } from './outside.ts';

const [FIRST, SECOND] = OUTSIDE;
const [UPLINK] = HOST_ADDRESSES;

describe('a guest and the outside', () => {
  let lab: Lab;
  let guest: Guest;
  beforeAll(async () => {
    lab = await Lab.create();
    guest = await lab.addGuest();
    await lab.open(guest.lease);
  });
  afterAll(() => lab[Symbol.asyncDispose]());

  test('TCP, UDP, ICMP and the web get out and back, under the host’s address', async () => {
    expect(await guest.tcp(FIRST, 7000)).toBe(UPLINK);
    expect(await guest.udp(SECOND, 7000)).toBe(UPLINK);
    expect(await guest.icmp(FIRST)).toBe(FIRST);
    expect((await guest.web(SECOND, '/')).body).toBe(UPLINK);
  });

  test('names resolve at the gateway, over UDP and TCP', async () => {
    expect(await guest.resolve(GATEWAY, NAME)).toEqual([[FIRST], ['2001:db8::10']]);
    expect(await guest.resolveTcp(GATEWAY, NAME)).toEqual([FIRST]);
  });

  test('no question is lost of those that leave one port at the same time', async () => {
    // Each under a name of its own, so that none is answered from memory. A socket's buffer of 208 KiB, the kernel's default, holds the two
    // questions of each of a hundred while a busy host does not let the name server read them; those of two hundred it does not.
    const rounds = Array.from({ length: 100 }, (_, n) => guest.resolve(GATEWAY, `none-${n}.atoll.test`));
    expect(await Promise.all(rounds)).toEqual(rounds.map(() => [[], []]));
  });

  test('names follow the host when its resolver changes', async () => {
    await lab.pointResolver(SECOND);
    await expect
      .poll(() => guest.resolve(GATEWAY, NAME).then(([a]) => a), { timeout: 10_000, interval: 200 })
      .toEqual([SECOND]);
    await lab.pointResolver(FIRST);
  });

  test('the name server comes back when it ends', async () => {
    const pid = await nameServerPid(lab);
    process.kill(pid, 'SIGKILL');
    await expect
      .poll(
        () =>
          guest.resolve(GATEWAY, NAME).then(
            ([a]) => a.length,
            () => 0,
          ),
        { timeout: 10_000 },
      )
      .toBe(1);
    expect(await nameServerPid(lab)).not.toBe(pid);
  });

  test('questions and metadata leave no trace in connection tracking', async () => {
    await guest.resolve(GATEWAY, NAME);
    const tracked = await lab.host('conntrack', '-L', '-s', guest.lease.address);
    expect(tracked).not.toContain(`dst=${GATEWAY}`);
  });
});

async function nameServerPid(lab: Lab): Promise<number> {
  const children = await lab.host('cat', `/proc/${lab.driver.pid}/task/${lab.driver.pid}/children`);
  return Number(children.trim().split(' ')[0]);
}

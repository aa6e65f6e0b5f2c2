import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Lab, USER } from './lab.ts';

const SIZE = 4;

const TAP_OF_ROOT = 'ip link delete dev atoll-2 && ip tuntap add dev atoll-2 mode tap user root';
const HIDE_NFT = 'mount --bind /dev/null "$(command -v nft)"';
const SMALL_DISK = 'mount -t tmpfs -o size=1m tmpfs /mnt';

describe('the host’s set-up', () => {
  let lab: Lab;
  beforeEach(async () => {
    lab = await Lab.bare({ poolSize: SIZE });
  });
  afterEach(() => lab[Symbol.asyncDispose]());

  /** All that the set-up may change in the namespace. */
  const state = async () =>
    (
      await Promise.all([
        lab.host('ip', '-details', 'address').then(withoutTime),
        lab.host('ip', 'neighbour'),
        lab.host('bridge', 'fdb'),
        lab.host('nft', 'list', 'ruleset'),
        lab.host('sysctl', '--all', '--pattern', String.raw`^net\.ipv[46]\.(conf|ip_forward)`),
        lab.devices(),
      ])
    ).join('\n');

  const faults = async (prepare?: string, env?: Record<string, string>) =>
    (await lab.doctor(prepare, env)).split('\n').filter((line) => line.startsWith('!!'));

  test('is the same when it runs twice, and the tear-down takes back all of it and nothing else', async () => {
    await lab.host(
      'nft',
      'add table inet other; add chain inet other mine; add rule inet other mine counter drop',
    );
    await lab.host('ip', 'link', 'add', 'other0', 'type', 'bridge');
    const before = await state();
    await lab.setUp();
    const after = await state();
    expect(after).not.toBe(before);
    await lab.setUp();
    expect(await state()).toBe(after);
    await lab.startDriver();
    await lab.driver.call('reclaim', { held: [], used: [] });
    await lab.driver[Symbol.asyncDispose]();
    await lab.tearDown();
    expect(await state()).toBe(before);
    await lab.tearDown();
    expect(await state()).toBe(before);
  });

  test('leaves what it found, such as a bridge of that name, at the tear-down', async () => {
    await lab.host('ip', 'link', 'add', 'atoll0', 'type', 'bridge');
    await lab.setUp();
    await lab.tearDown();
    expect(await lab.host('ip', '-brief', 'link')).toContain('atoll0');
    expect(await lab.host('ip', '-brief', 'link')).not.toContain('atoll-0');
  });

  test('makes taps that their user may open, and nobody else', async () => {
    await lab.setUp();
    const open = (user: string) =>
      lab.host('python3', '-c', OPEN_TAP, user).then(
        () => true,
        () => false,
      );
    expect([await open(USER), await open('nobody')]).toEqual([true, false]);
  });

  test('is refused by the daemon where it is missing, which says what is wrong', async () => {
    await expect(lab.startDriver()).rejects.toThrow('bridge atoll0 is missing');
    await lab.setUp();
    await lab.host('ip', 'link', 'set', 'dev', 'atoll-1', 'type', 'bridge_slave', 'isolated', 'off');
    await expect(lab.startDriver()).rejects.toThrow('tap atoll-1 has isolated off');
  });

  test('satisfies the check', async () => {
    await lab.setUp();
    expect((await faults()).filter((line) => !line.includes('/'))).toEqual([]);
    expect(await lab.doctor()).toContain(`ok  tap: ${SIZE} of ${USER}`);
  });

  // Each spoils something on a host that is set up; then the check names it, and what it says to do mends it.
  test.each([
    [
      'no bridge',
      'ip link delete dev atoll0',
      /bridge: atoll0 is missing; mend it: (ip link add name atoll0 .*)/,
    ],
    ['a tap of another user', TAP_OF_ROOT, /tap: atoll-2 belongs to root, not to daemon; mend it: (.*)/],
    ['a tap gone', 'ip link delete dev atoll-3', /tap: atoll-3 is missing; mend it: (ip tuntap add .*)/],
    [
      'a port that is open to others',
      'ip link set dev atoll-1 type bridge_slave isolated off',
      /tap: atoll-1 has isolated off; mend it: (.*)/,
    ],
    [
      'forwarding off',
      'echo 0 >/proc/sys/net/ipv4/conf/uplink0/forwarding',
      /forwarding: is off on uplink0.*; mend it: (sysctl .*)/,
    ],
    [
      'a firewall that drops all it does not know',
      "nft 'add table ip filter; add chain ip filter FORWARD { type filter hook forward priority 0; policy drop; }'",
      /firewall: ip filter FORWARD drops what guests send; mend it: (nft insert rule .*)/,
    ],
  ])('the check finds %s, and how to mend it', async (_, spoil, line) => {
    await lab.setUp();
    const sound = await faults();
    await lab.host('sh', '-c', spoil);
    const found = (await faults()).filter((fault) => !sound.includes(fault));
    const mend = found.map((fault) => line.exec(fault)?.[1]).find((command) => command !== undefined);
    expect(found.join('\n')).toMatch(line);
    await lab.host('sh', '-c', mend ?? 'false');
    // Taps that lost their bridge are still without.
    if (found.length === 1) expect(await faults()).toEqual(sound);
  });

  test.each([
    [
      '/dev/net/tun that is root’s alone',
      'chmod 600 /dev/net/tun; chgrp 0 /dev/net/tun',
      {},
      '!!  /dev/net/tun: may not be opened by daemon; mend it: chgrp 1 /dev/net/tun && chmod 0660 /dev/net/tun',
    ],
    [
      '/dev/kvm that is root’s alone',
      'chmod 600 /dev/kvm; chgrp 0 /dev/kvm',
      {},
      '!!  /dev/kvm: may not be opened by daemon; mend it: chgrp 1 /dev/kvm && chmod 0660 /dev/kvm',
    ],
    [
      'nft missing',
      HIDE_NFT,
      {},
      '!!  nft: is missing; mend it: apt-get install --yes --no-install-recommends nftables',
    ],
    [
      'no disk space',
      SMALL_DISK,
      { SERVICE_STATE_DIR: '/mnt' },
      '!!  disk space: 1 MiB are free under /mnt, and 1024 are needed; mend it: free some, or set SERVICE_STATE_DIR to a directory on a larger disk',
    ],
    [
      'a kernel missing',
      'true',
      { SERVICE_KERNEL_PATH: '/nowhere/vmlinux' },
      '!!  /nowhere/vmlinux: is missing; mend it: bash ',
    ],
  ])('the check finds %s, and how to mend it', async (_, prepare, env, line) => {
    await lab.setUp();
    expect((await faults(prepare, env)).join('\n')).toContain(line);
  });
});

/** A bridge counts down to its next round of cleaning, and a new IPv6 address is on trial for a second. */
function withoutTime(text: string): string {
  return text.replaceAll(/timer +[\d.]+| tentative/g, '');
}

/** Opens a tap as the user whose name is its argument: the program opens the device first, which not every user may. */
const OPEN_TAP = `
import fcntl, os, pwd, struct, sys
tun = os.open("/dev/net/tun", os.O_RDWR)
os.setgroups([])
uid = pwd.getpwnam(sys.argv[1]).pw_uid
os.setresgid(uid, uid, uid)
os.setresuid(uid, uid, uid)
fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", b"atoll-0", 0x1002))
`;

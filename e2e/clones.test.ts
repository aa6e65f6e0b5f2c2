import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Client } from './harness/client.ts';
import { Daemon } from './harness/daemon.ts';
import { expectFailure } from './harness/failure.ts';
import { kibField, machinePid } from './harness/host.ts';
import { createSandbox } from './harness/sandbox.ts';
import type { Sandbox } from './harness/sandbox.ts';
import { bringUp, deleteSnapshots, makeClones, takeSnapshot } from './harness/snapshot.ts';
import { Outside, OUTSIDE, UPLINK_ADDRESSES } from './network/outside.ts';

const execute = promisify(execFile);
const [BEYOND] = OUTSIDE;

// As many as there are network devices: the held snapshot needs none.
const COUNT = Number(process.env.ATOLL_TEST_CLONES ?? 12);
const MAX_PSS_KIB = 40 * 1024;
const CLOCK_MS = 50;

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let client: Client;

beforeAll(async () => {
  const outside = stack.use(await Outside.attach(`atoll-test-${process.pid}-out`));
  await outside.serve();
  // The uplink has come after the set-up.
  await execute(process.execPath, ['host/network/setup.ts']);
  daemon = stack.use(await Daemon.start());
  client = daemon.client;
});
afterAll(() => stack.disposeAsync());

/** What a clone says of itself, and by how much its clock is off. */
async function introduce(clone: Sandbox) {
  const sent = Date.now();
  const said = await clone.sh(
    'date +%s.%N; hostname; cat /etc/machine-id /sys/class/net/eth0/address; ip -4 -o addr show eth0 | grep -o "inet [0-9.]*"; python3 -c "import os; print(os.getrandom(16).hex())"',
  );
  const [time = '', ...identity] = said.split('\n');
  const late = Number(time) * 1000;
  return { identity, off: Math.max(sent - late, late - Date.now()) };
}

it(
  'clones of one snapshot are sandboxes of their own, small, and can be snapshotted',
  { timeout: 600_000 },
  async () => {
    const source = await createSandbox(client, { name: 'original', mem_size_mib: 256, vcpu_count: 1 });
    await source.sh('echo common >/root/common');
    const id = await takeSnapshot(client, source.id);
    const clones = await makeClones(client, id, {
      count: COUNT,
      name_prefix: 'clone',
      tags: { kind: 'clone' },
    });
    expect(clones).toHaveLength(COUNT);

    for (const clone of clones.slice(0, 4)) {
      const pid = await machinePid(daemon.stateDir, clone.id);
      const pss = kibField(await readFile(`/proc/${pid}/smaps_rollup`, 'utf8'), 'Pss');
      expect(pss).toBeLessThan(MAX_PSS_KIB);
    }

    const told = [];
    for (const clone of clones) told.push(await introduce(clone));
    for (const { off } of told) expect(off).toBeLessThan(CLOCK_MS);
    for (const at of told[0]?.identity.keys() ?? []) {
      const values = told.map(({ identity }) => identity[at]);
      expect(new Set(values).size, values.join(' ')).toBe(COUNT);
    }
    expect(told.map(({ identity }) => identity[0])).toEqual(clones.map((_, at) => `clone-${at + 1}`));
    // Each reaches the name server at the gateway, and a host beyond it.
    for (const clone of clones) {
      await clone.sh('python3 -c "import socket; socket.create_connection((\'10.213.0.1\', 53), 5)"');
      const said = await clone.sh(`curl -s --max-time 10 http://${BEYOND}/ && cat /root/common`);
      expect(said).toBe(`${UPLINK_ADDRESSES[0]}common`);
    }

    for (const [at, clone] of clones.slice(0, 2).entries()) {
      await clone.sh(`echo ${at} >/root/mine; nohup sleep 4711 >/dev/null 2>&1 &`);
      const taken = await takeSnapshot(client, clone.id);
      const resumed = await bringUp(client, `${taken}/resume`);
      expect(await resumed.sh('cat /root/common /root/mine; hostname')).toBe(
        `common\n${at}\nclone-${at + 1}`,
      );
      expect(await resumed.pgrep('sleep 4711')).toHaveLength(1);
      const again = await takeSnapshot(client, resumed.id);
      await (await bringUp(client, `${again}/resume`)).destroy();
    }
    for (const clone of clones.slice(2)) await clone.destroy();
    await deleteSnapshots(client);
    await daemon.assertClean();
  },
);

it('a fresh identity is no second holder of the old one', async () => {
  const sandbox = await createSandbox(client, { name: 'fresh', mem_size_mib: 256, vcpu_count: 1 });
  const id = await takeSnapshot(client, sandbox.id);
  const forks = [
    await bringUp(client, `${id}/fork?fresh_identity=true`),
    await bringUp(client, `${id}/fork`),
  ];
  const resumed = await bringUp(client, `${id}/resume?fresh_identity=true`);
  const restored = await bringUp(client, `history/${id}/restore?fresh_identity=true`);
  const all = [...forks, resumed, restored];
  const addresses = await Promise.all(
    all.map((each) => each.sh('ip -4 -o addr show eth0 | grep -o "inet [0-9.]*"')),
  );
  expect(new Set(addresses).size).toBe(all.length);
  await Promise.all(all.map((each) => each.destroy()));
  await deleteSnapshots(client);
  await daemon.assertClean();
});

it('nonsense is refused', async () => {
  expectFailure(await client.call('POST', '/snapshots/none/clone', { count: 1 }), 404, 'NOT_FOUND', 'none');
  for (const body of [{}, { count: 0 }, { count: 65 }, { count: 1, name_prefix: 'a b' }])
    expectFailure(await client.call('POST', '/snapshots/none/clone', body), 400, 'INVALID_REQUEST');
});

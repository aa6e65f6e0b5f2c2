import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from './harness/client.ts';
import { Daemon } from './harness/daemon.ts';
import { expectFailure, expectNoContent } from './harness/failure.ts';
import { machineDirs, machinePid, machinePids } from './harness/host.ts';
import { createSandbox, listSandboxes } from './harness/sandbox.ts';
import type { Sandbox } from './harness/sandbox.ts';
import {
  bringUp,
  deleteSnapshots,
  listCheckpoints,
  listSnapshots,
  takeSnapshot,
} from './harness/snapshot.ts';

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let client: Client;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start());
  client = daemon.client;
});

afterEach(async () => {
  daemon.assertRunning();
  for (const { id } of await listSandboxes(client))
    await client.call('DELETE', `/sandboxes/${id}?keep=false`);
  await deleteSnapshots(client);
  await daemon.assertClean();
});
afterAll(() => stack.disposeAsync());

const SMALL = { mem_size_mib: 256, vcpu_count: 1 };
const post = (path: string) => client.call('POST', path);

/** A program that counts, holds random data, an open file and a module, and prints what it has when it is told to. */
const PROGRAM = `
import decimal, hashlib, os, signal, time
data = os.urandom(200_000_000)
hash = hashlib.sha256(data).hexdigest()
count = 0
os.chdir('/var/tmp')
log = open('log', 'w')
def tell(*_):
    again = hashlib.sha256(data).hexdigest()
    print(count, hash, again == hash, os.getcwd(), decimal.Decimal(1) / 7, file=open('/root/told', 'w'))
    os.rename('/root/told', '/root/answer')
signal.signal(signal.SIGUSR1, tell)
open('/root/ready', 'w').close()
while True:
    count += 1
    log.write(f'{count}\\n'); log.flush()
    time.sleep(0.01)
`;

describe('a program that runs', () => {
  async function ask(sandbox: Sandbox): Promise<string[]> {
    const told = await sandbox.sh(
      'rm -f /root/answer; pkill -USR1 python3; until [ -e /root/answer ]; do sleep 0.1; done; cat /root/answer',
    );
    return told.split(' ');
  }

  it('goes on at the same count with the same data after stop and resume', { timeout: 180_000 }, async () => {
    const sandbox = await createSandbox(client, { name: 'counter', mem_size_mib: 768, env: { A: 'b' } });
    await sandbox.post('write-file', {
      path: '/root/program.py',
      content_base64: Buffer.from(PROGRAM).toString('base64'),
    });
    await sandbox.sh(
      'nohup python3 /root/program.py >/root/out 2>&1 & until [ -e /root/ready ]; do sleep 0.2; done',
    );
    const before = await ask(sandbox);
    expect(before[2]).toBe('True');

    const stopped = await client.call('DELETE', sandbox.path);
    const { kept, snapshot_id: id } = stopped.json as { kept: boolean; snapshot_id: string };
    expect({ status: stopped.status, kept }).toEqual({ status: 200, kept: true });
    expect(await listSandboxes(client)).toEqual([]);
    expect(await machinePids(daemon.stateDir)).toEqual([]);
    expect(await machineDirs(daemon.stateDir)).toEqual([]);

    const resumed = await bringUp(client, `${id}/resume`);
    const after = await ask(resumed);
    expect(after.slice(1)).toEqual(before.slice(1));
    expect(Number(after[0])).toBeGreaterThanOrEqual(Number(before[0]));
    expect(Number(after[0])).toBeLessThan(Number(before[0]) + 20_000);
    const counted = Number(await resumed.sh('tail -n 1 /var/tmp/log'));
    expect(counted).toBeGreaterThanOrEqual(Number(after[0]));
    expect(await resumed.sh('echo $A; hostname; cat /var/tmp/log | wc -l')).toMatch(/^b\ncounter\n/);
  });

  it('goes on without the call that began it', async () => {
    const sandbox = await createSandbox(client, SMALL);
    const call = sandbox.post('exec', {
      command: 'sh',
      args: ['-c', 'while sleep 0.1; do date >>/root/log; done'],
    });
    await sandbox.sh('until [ -s /root/log ]; do sleep 0.1; done');
    const id = await takeSnapshot(client, sandbox.id);
    expectFailure(await call, 502, 'SANDBOX_UNREACHABLE', sandbox.id);
    const resumed = await bringUp(client, `${id}/resume`);
    const lines = Number(await resumed.sh('wc -l </root/log'));
    await resumed.sh('sleep 0.5');
    expect(Number(await resumed.sh('wc -l </root/log'))).toBeGreaterThan(lines);
  });
});

describe('the clock', () => {
  it('is right after a resume, and random numbers differ between forks', async () => {
    const id = await takeSnapshot(client, (await createSandbox(client, SMALL)).id);
    await new Promise((resolve) => setTimeout(resolve, 2000));
    const numbers = [];
    for (let at = 0; at < 2; at += 1) {
      await using fork = await bringUp(client, `${id}/fork`);
      const sent = Date.now();
      const [seconds = '', random = ''] = (
        await fork.sh('date +%s.%N; head -c 16 /dev/urandom | od -An -tx1')
      ).split('\n');
      expect(Number(seconds) * 1000).toBeGreaterThan(sent - 50);
      expect(Number(seconds) * 1000).toBeLessThan(Date.now() + 50);
      numbers.push(random);
    }
    expect(new Set(numbers).size).toBe(2);
  });
});

describe('the state table', () => {
  it('resume consumes: 404 the second time, and the checkpoint is in history', async () => {
    const sandbox = await createSandbox(client, { ...SMALL, name: 'table', tags: { team: 'a' } });
    const id = await takeSnapshot(client, 'table');
    expect(await listSnapshots(client, `?source_sandbox_id=${sandbox.id}`)).toMatchObject([
      { id, name: 'table', tags: { team: 'a' }, forked_into: null, parent_snapshot_id: null },
    ]);
    expect(await listSnapshots(client, `?parent_snapshot_id=${id}`)).toEqual([]);
    expectFailure(await client.call('POST', '/sandboxes', { name: 'table' }), 409, 'NAME_TAKEN', id);

    const resumed = await bringUp(client, `${id}/resume`);
    expect((await client.call('GET', '/sandboxes/table')).json).toMatchObject({
      id: resumed.id,
      parent_snapshot_id: id,
      tags: { team: 'a' },
    });
    expectFailure(await post(`/snapshots/${id}/resume`), 404, 'NOT_FOUND', id);
    expectFailure(await post(`/snapshots/${id}/fork`), 404, 'NOT_FOUND', id);
    expectFailure(await client.call('DELETE', `/snapshots/${id}`), 404, 'NOT_FOUND', id);
    expect(await listCheckpoints(client, `?source_sandbox_id=${sandbox.id}`)).toMatchObject([{ id }]);

    const next = await takeSnapshot(client, resumed.id);
    expect(await listSnapshots(client, `?parent_snapshot_id=${id}`)).toMatchObject([{ id: next }]);
    await bringUp(client, `${next}/resume?retain_history=false`);
    expect((await listCheckpoints(client)).map((each) => each.id)).toEqual([id]);
    const { json } = await client.call('GET', '/sandboxes/history');
    expect(json).toMatchObject({
      history: expect.arrayContaining([
        expect.objectContaining({ id: sandbox.id, end_reason: 'snapshotted', final_snapshot_id: id }),
      ]) as unknown,
    });
  });

  it('one live fork: 409 for another, for a resume, for a deletion; stopped it is not kept', async () => {
    const id = await takeSnapshot(client, (await createSandbox(client, SMALL)).id);
    const fork = await bringUp(client, `${id}/fork`);
    expect(await listSnapshots(client)).toMatchObject([{ id, forked_into: fork.id }]);
    expectFailure(await post(`/snapshots/${id}/fork`), 409, 'SNAPSHOT_FORKED', fork.id);
    expectFailure(await post(`/snapshots/${id}/resume`), 409, 'SNAPSHOT_FORKED', fork.id);
    expectFailure(await client.call('DELETE', `/snapshots/${id}`), 409, 'SNAPSHOT_FORKED', fork.id);
    expectFailure(await post(`${fork.path}/snapshot`), 409, 'FORK_NOT_SNAPSHOTTABLE', id);
    await fork.sh('echo mine >/root/mine');
    const stopped = await client.call('DELETE', fork.path);
    expect({ status: stopped.status, json: stopped.json }).toEqual({
      status: 200,
      json: { kept: false, snapshot_id: null },
    });

    const second = await bringUp(client, `${id}/fork`);
    expect((await second.exec('test', ['-e', '/root/mine'])).exit_code).toBe(1);
    await second.destroy();
    const resumed = await bringUp(client, `${id}/resume`);
    expect((await resumed.exec('test', ['-e', '/root/mine'])).exit_code).toBe(1);
  });

  it('restore: 409 names who has the identity, then as often as wanted, and it branches', async () => {
    const sandbox = await createSandbox(client, SMALL);
    await sandbox.sh('echo first >/root/at');
    const id = await takeSnapshot(client, sandbox.id);
    const resumed = await bringUp(client, `${id}/resume`);
    expectFailure(await post(`/snapshots/history/${id}/restore`), 409, 'IDENTITY_HELD', resumed.id);
    const held = await takeSnapshot(client, resumed.id);
    expectFailure(await post(`/snapshots/history/${id}/restore`), 409, 'IDENTITY_HELD', held);
    expectNoContent(await client.call('DELETE', `/snapshots/${held}`));

    const once = await bringUp(client, `history/${id}/restore`);
    expectFailure(await post(`/snapshots/history/${id}/restore`), 409, 'IDENTITY_HELD', once.id);
    await once.sh('echo branch >/root/at');
    const branch = await takeSnapshot(client, once.id);
    await (await bringUp(client, `${branch}/resume`)).destroy();
    const twice = await bringUp(client, `history/${id}/restore`);
    expect(await twice.sh('cat /root/at')).toBe('first');
    await twice.destroy();
    const branched = await bringUp(client, `history/${branch}/restore`);
    expect(await branched.sh('cat /root/at')).toBe('branch');
    await branched.destroy();
    expectNoContent(await client.call('DELETE', `/snapshots/history/${id}`));
    expectFailure(await client.call('DELETE', `/snapshots/history/${id}`), 404, 'NOT_FOUND', id);
  });

  it.each(['resume', 'fork'])('%s of nothing is 404, a bad query 400', async (action) => {
    expectFailure(await post(`/snapshots/none/${action}`), 404, 'NOT_FOUND', 'none');
    expectFailure(await post(`/snapshots/none/${action}?fresh_identity=maybe`), 400, 'INVALID_REQUEST');
  });
});

describe('a VM that ends', () => {
  it('when it is loaded leaves the snapshot as it was', async () => {
    const id = await takeSnapshot(client, (await createSandbox(client, SMALL)).id);
    const coming = post(`/snapshots/${id}/resume`);
    for (;;) {
      const [pid] = await machinePids(daemon.stateDir);
      if (pid === undefined) continue;
      process.kill(pid, 'SIGKILL');
      break;
    }
    const answer = await coming;
    // Killed after it was done, it is a sandbox that was lost.
    if (answer.status === 200) return;
    expectFailure(answer, 500, 'RESTORE_FAILED', id);
    expect(await listSnapshots(client)).toMatchObject([{ id }]);
    const resumed = await bringUp(client, `${id}/resume`);
    expect(await resumed.sh('echo well')).toBe('well');
  });

  it('of a fork frees its snapshot', async () => {
    const id = await takeSnapshot(client, (await createSandbox(client, SMALL)).id);
    const fork = await bringUp(client, `${id}/fork`);
    process.kill(await machinePid(daemon.stateDir, fork.id), 'SIGKILL');
    await expect.poll(async () => (await listSnapshots(client))[0]?.forked_into).toBeNull();
    await bringUp(client, `${id}/fork`);
  });
});

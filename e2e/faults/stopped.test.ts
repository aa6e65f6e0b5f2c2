import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pointsOf } from '../../packages/daemon/src/lib/fault-points.ts';
import type { FaultPoint } from '../../packages/daemon/src/lib/fault-points.ts';
import { expectFailure, expectNoContent } from '../harness/failure.ts';
import { listSandboxes } from '../harness/sandbox.ts';
import type { Sandbox } from '../harness/sandbox.ts';
import { bringUp, listCheckpoints, listSnapshots, takeSnapshot } from '../harness/snapshot.ts';
import { createDrive, mountOf } from '../storage/drives.ts';
import { FaultDesk } from './desk.ts';
import { assertBooksEqualHost } from './ledger.ts';

// A VM that somebody stops (SIGSTOP) beside the daemon, and may have go on. Those that are stopped on the way are in hung.test.ts.

const stack = new AsyncDisposableStack();
let desk: FaultDesk;

beforeAll(async () => {
  desk = stack.use(await FaultDesk.start());
});
afterAll(() => stack.disposeAsync());

const stop = (sandbox: Sandbox) => desk.signalVm(sandbox, 'SIGSTOP');
const goOn = (sandbox: Sandbox) => desk.signalVm(sandbox, 'SIGCONT');
const ids = async () => (await listSandboxes(desk.client)).map(({ id }) => id);

/** A sandbox with a file in its memory. */
async function create(body: object = {}): Promise<Sandbox> {
  const sandbox = await desk.create(body);
  await sandbox.sh('echo mine >/dev/shm/mine');
  return sandbox;
}

describe('a sandbox whose VM is stopped', () => {
  it('is told of by its calls, cannot be kept, and is whole when it goes on', async () => {
    const [first, second] = [await create({ name: 'web' }), await create()];
    await stop(first);
    const stopped = desk.client.call('DELETE', first.path);
    expect(await second.sh('echo well')).toBe('well');
    expectFailure(await stopped, 500, 'SNAPSHOT_FAILED', first.id, 'the answer of its agent took longer');
    expect(await ids()).toEqual([first.id, second.id]);
    expect(await listSnapshots(desk.client)).toEqual([]);
    const told = await first.post('exec', { command: 'true' });
    expectFailure(told, 502, 'SANDBOX_UNREACHABLE', first.id, 'silent');

    await goOn(first);
    expect(await first.sh('cat /dev/shm/mine')).toBe('mine');
    const snapshot = await takeSnapshot(desk.client, first.id);
    expect(await (await bringUp(desk.client, `${snapshot}/resume`)).sh('cat /dev/shm/mine')).toBe('mine');
    await desk.clear();
  });

  it('is ended for good by a delete that keeps nothing, and so is one with a drive', async () => {
    const drive = await createDrive(desk.client, 16);
    const [first, writer] = [await create(), await create({ drives: [{ id: drive.id }] })];
    await writer.sh(`echo kept >${mountOf(drive)}/file && sync -f ${mountOf(drive)}`);
    for (const sandbox of [first, writer]) await stop(sandbox);
    expectNoContent(await first.destroy());
    await assertBooksEqualHost(desk.daemon);
    expectNoContent(await writer.destroy());
    expect(desk.daemon.log.find('drives not written out')).toMatchObject({ drive_ids: [drive.id] });
    await assertBooksEqualHost(desk.daemon);
    const next = await desk.create({ drives: [{ id: drive.id }] });
    expect(await next.sh(`cat ${mountOf(drive)}/file`)).toBe('kept');
    await desk.clear();
    expectNoContent(await desk.client.call('DELETE', `/drives/${drive.id}`));
  });

  it.each(pointsOf('vm stopped', 'enter', 'resume'))('at %s of a resume is whole', async (point) => {
    const snapshot = await takeSnapshot(desk.client, (await create({ name: 'web' })).id);
    await desk.strike(point, 'vm stopped');
    const resumed = await bringUp(desk.client, `${snapshot}/resume`);
    expect(await desk.waiting()).toEqual([]);
    expect((await listCheckpoints(desk.client)).map(({ id }) => id)).toEqual([snapshot]);
    await assertBooksEqualHost(desk.daemon);
    await goOn(resumed);
    expect(await resumed.sh('cat /dev/shm/mine')).toBe('mine');
    await desk.clear();
  });
});

describe('a daemon with a sandbox whose VM is stopped', () => {
  it('ends in order on SIGTERM, with nothing left', async () => {
    const drive = await createDrive(desk.client, 16);
    for (const body of [{}, { drives: [{ id: drive.id }] }]) await stop(await create(body));
    await desk.daemon.stop();
    await desk.restart();
    expectNoContent(await desk.client.call('DELETE', `/drives/${drive.id}`));
    await desk.clear();
  });

  // Behind these a start has ended every VM there was.
  it.each(['recover:begun', 'recover:machines'] satisfies FaultPoint[])(
    'leaves none when it is killed, and the next one at %s',
    async (point) => {
      const sandbox = await create();
      await stop(sandbox);
      const stray = await startStray(sandbox);
      await desk.daemon.kill();
      await desk.strike(point, 'daemon killed');
      expect((await desk.startInVain()).signal).toBe('SIGKILL');
      await desk.restart();
      expect(await stray.ended).toBe('SIGKILL');
      expect(await listSandboxes(desk.client)).toEqual([]);
      await assertBooksEqualHost(desk.daemon);
    },
  );
});

/**
 * Starts what a start takes for the VM of a sandbox, and stops it: the kernel ends one with its daemon, stopped or not, and this one it
 * does not. `ended` answers the signal by which that is.
 */
async function startStray({ id }: Sandbox): Promise<{ ended: Promise<NodeJS.Signals | null> }> {
  const { uid, gid } = await stat(`/proc/${desk.daemon.pid}`);
  const stray = spawn('sh', ['-c', 'read line', '-name', `atoll-${id}`], {
    ...{ argv0: 'qemu-system-stray', uid, gid, cwd: join(desk.daemon.stateDir, 'machines', id) },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = once(stray, 'exit').then(([, signal]) => signal as NodeJS.Signals | null);
  stray.kill('SIGSTOP');
  return { ended };
}

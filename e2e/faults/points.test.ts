import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pointsOf } from '../../packages/daemon/src/lib/fault-points.ts';
import type { FaultGroup } from '../../packages/daemon/src/lib/fault-points.ts';
import { expectFailure, expectNoContent } from '../harness/failure.ts';
import type { Sandbox } from '../harness/sandbox.ts';
import { listSandboxes } from '../harness/sandbox.ts';
import { bringUp, listCheckpoints, listSnapshots, takeSnapshot } from '../harness/snapshot.ts';
import { FaultDesk, SMALL } from './desk.ts';
import { assertBooksEqualHost } from './ledger.ts';

// The hangs, and VMs that are stopped, are in hung.test.ts.

const stack = new AsyncDisposableStack();
let desk: FaultDesk;

beforeAll(async () => {
  desk = stack.use(await FaultDesk.start());
});
afterAll(() => stack.disposeAsync());

const post = (path: string, body?: object) => desk.client.call('POST', path, body);

/** A sandbox that counts, beside whatever happens. */
async function bystander(): Promise<Sandbox> {
  const sandbox = await desk.create();
  await sandbox.sh('nohup sh -c "while sleep 0.1; do echo >>/root/beats; done" >/dev/null 2>&1 &');
  return sandbox;
}

async function goesOn(sandbox: Sandbox): Promise<void> {
  await sandbox.sh(
    'before=$(wc -l </root/beats); until [ $(wc -l </root/beats) -gt $before ]; do sleep 0.1; done',
  );
}

describe.each(['error', 'vm killed'] as const)('%s', (fault) => {
  let other: Sandbox;
  beforeAll(async () => {
    other = await bystander();
  });
  afterAll(async () => {
    await goesOn(other);
    await desk.clear();
  });

  it('leaves nothing of a create, at any point', async () => {
    for (const point of pointsOf(fault, 'boot', 'enter')) {
      await desk.strike(point, fault);
      const answer = await post('/sandboxes', { ...SMALL, name: 'web' });
      // A VM that is killed before there is one is none, and one that ends at the last moment is lost.
      if (fault === 'error') expectFailure(answer, 500, 'BOOT_FAILED', `injected at ${point}`);
      else if (answer.status !== 200) expectFailure(answer, 500, 'BOOT_FAILED');
      expect(await desk.waiting(), point).toEqual([]);
      await desk.clear(other);
    }
    await goesOn(other);
  });

  it('leaves a sandbox or a whole snapshot of it, at any point of a capture', async () => {
    for (const point of pointsOf(fault, 'capture')) {
      const { id } = await desk.create({ name: 'web' });
      await desk.strike(point, fault);
      const answer = await post(`/sandboxes/${id}/snapshot`);
      expect(await desk.waiting(), point).toEqual([]);
      if (answer.status === 200) {
        const [taken] = await listSnapshots(desk.client);
        expect(await (await bringUp(desk.client, `${taken?.id}/resume`)).sh('echo well')).toBe('well');
      } else {
        expectFailure(answer, 500, 'SNAPSHOT_FAILED', id);
        expect(await listSnapshots(desk.client)).toEqual([]);
        const after = await post(`/sandboxes/${id}/exec`, { command: 'true' });
        if (fault === 'error') expect(after.json).toMatchObject({ exit_code: 0 });
        else expectFailure(after, 502, 'SANDBOX_UNREACHABLE', id);
      }
      await desk.clear(other);
    }
  });

  it('leaves the snapshot as it was, at any point of a resume', async () => {
    const snapshot = async () => takeSnapshot(desk.client, (await desk.create({ name: 'web' })).id);
    let taken = await snapshot();
    for (const point of pointsOf(fault, 'restore', 'enter', 'resume')) {
      await desk.strike(point, fault);
      const answer = await post(`/snapshots/${taken}/resume`);
      expect(await desk.waiting(), point).toEqual([]);
      if (answer.status === 200) {
        // Passed without a VM, or live before its end was noticed: the snapshot became a checkpoint.
        expect(fault).toBe('vm killed');
        expect((await listCheckpoints(desk.client)).map(({ id }) => id)).toEqual([taken]);
        await desk.clear(other);
        taken = await snapshot();
        continue;
      }
      expectFailure(answer, 500, 'RESTORE_FAILED', taken);
      expect((await listSnapshots(desk.client)).map(({ id }) => id)).toEqual([taken]);
      await assertBooksEqualHost(desk.daemon);
    }
    await desk.clear(other);
  });
});

it.each(pointsOf('error', 'release'))('an error at %s is made good later', async (point) => {
  const sandbox = await desk.create();
  await desk.strike(point, 'error');
  expectNoContent(await sandbox.destroy());
  expect(await desk.waiting()).toEqual([]);
  await assertBooksEqualHost(desk.daemon);
});

/** What is asked of the daemon so that it passes the points of a part of a life; it may be killed there. */
const PASSINGS: Readonly<Record<FaultGroup, (sandbox: string, snapshot: string) => Promise<unknown>>> = {
  boot: () => desk.create(),
  enter: () => desk.create(),
  capture: (sandbox) => takeSnapshot(desk.client, sandbox),
  restore: (_, snapshot) => bringUp(desk.client, `${snapshot}/resume`),
  resume: (_, snapshot) => bringUp(desk.client, `${snapshot}/resume`),
  release: (sandbox) => desk.client.call('DELETE', `/sandboxes/${sandbox}?keep=false`),
  recover: () => desk.daemon.kill(),
};
/** What begins with a sandbox that lives; anything else would only take longer with one. */
const LIVE: readonly FaultGroup[] = ['capture', 'release', 'recover'];
const GROUPS = Object.keys(PASSINGS) as FaultGroup[];

describe('the daemon killed', () => {
  /** Held at the beginning; each daemon has to have it, whole. */
  let kept: string;
  beforeAll(async () => {
    const source = await desk.create({ name: 'kept' });
    await source.sh('echo mine >/root/mine');
    kept = await takeSnapshot(desk.client, source.id);
  });
  afterAll(() => desk.clear());

  it.each(
    GROUPS.flatMap((group) => pointsOf('daemon killed', group).map((point) => [point, group] as const)),
  )('at %s leaves whole things alone', async (point, group) => {
    const sandbox = LIVE.includes(group) ? (await desk.create({ name: 'web' })).id : '';
    await desk.strike(point, 'daemon killed');
    await PASSINGS[group](sandbox, kept).catch(() => undefined);
    // One that is killed at its start has ended twice.
    if (group === 'recover') expect((await desk.startInVain()).signal).toBe('SIGKILL');
    await desk.restart();
    expect(await desk.waiting()).toEqual([]);
    await assertBooksEqualHost(desk.daemon);
    expect(await listSandboxes(desk.client)).toEqual([]);
    const others = (await listSnapshots(desk.client)).filter(({ id }) => id !== kept);
    expect(others.map((each) => each.source_sandbox_id)).toEqual(
      point === 'capture:committed' ? [sandbox] : [],
    );
    for (const { id } of others) {
      const resumed = await bringUp(desk.client, `${id}/resume`);
      expect(await resumed.sh('echo well')).toBe('well');
      await resumed.destroy();
    }
  });

  it('leaves a snapshot that can be resumed', async () => {
    expect(await (await bringUp(desk.client, `${kept}/resume`)).sh('cat /root/mine')).toBe('mine');
  });
});

it('an error at any point of a start ends it, saying so, and the next one does all', async () => {
  await desk.create();
  await desk.daemon.kill();
  for (const point of pointsOf('error', 'recover')) {
    await desk.strike(point, 'error');
    expect((await desk.startInVain()).stderr).toContain(`injected at ${point}`);
  }
  await desk.restart();
  await desk.clear();
});

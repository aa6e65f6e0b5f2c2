import { afterAll, beforeAll, expect, it } from 'vitest';
import { pointsOf } from '../../packages/daemon/src/lib/fault-points.ts';
import type { FaultGroup } from '../../packages/daemon/src/lib/fault-points.ts';
import type { Answer } from '../harness/client.ts';
import { expectFailure } from '../harness/failure.ts';
import type { Sandbox } from '../harness/sandbox.ts';
import { takeSnapshot } from '../harness/snapshot.ts';
import { FaultDesk, SMALL } from './desk.ts';

// What hangs is given up by a deadline: all at once, since each has to be waited for.
const DEADLINE_SECS = 12;
// A launch that fails on the way to its point, on a host that is as busy as can be, leaves the point to the next round.
const ROUNDS = 4;

const stack = new AsyncDisposableStack();
let desk: FaultDesk;

beforeAll(async () => {
  desk = stack.use(
    await FaultDesk.start({
      SERVICE_BOOT_TIMEOUT_SECS: String(DEADLINE_SECS),
      SERVICE_SNAPSHOT_TIMEOUT_SECS: String(DEADLINE_SECS),
      SERVICE_CONCURRENT_BOOTS: '32',
    }),
  );
});
afterAll(() => stack.disposeAsync());

const post = (path: string, body?: object) => desk.client.call('POST', path, body);

/** Has something happen at each of the points, while `many` of a thing are done at a time, until each was passed. */
async function strikeAll(
  fault: 'hang' | 'vm stopped',
  groups: readonly FaultGroup[],
  act: (many: number) => Promise<void>,
): Promise<void> {
  const points = pointsOf(fault, ...groups);
  let left: readonly string[] = points;
  for (let round = 0; left.length > 0; round += 1) {
    if (round === ROUNDS) throw new Error(`nobody passed ${left.join(', ')}`);
    for (const point of points) if (left.includes(point)) await desk.strike(point, fault);
    await act(left.length);
    left = await desk.waiting();
  }
}

function times<T>(many: number, act: (at: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: many }, (_, at) => act(at)));
}

const exec = (id: string) => post(`/sandboxes/${id}/exec`, { command: 'true' });

/** One that was not refused works, or its VM is stopped and whoever calls it is told so. */
async function expectWorksOrTold(id: string, fault: string): Promise<void> {
  const answer = await exec(id);
  if (fault === 'vm stopped' && answer.status !== 200) expectFailure(answer, 502, 'SANDBOX_UNREACHABLE', id);
  else expect(answer.json).toMatchObject({ exit_code: 0 });
}

it.each(['hang', 'vm stopped'] as const)(
  '%s, at any point: a deadline ends it',
  { timeout: 400_000 },
  async (fault) => {
    const bystander = await desk.create();
    const told = fault === 'hang' ? `took longer than ${DEADLINE_SECS * 1000} ms` : '';

    await strikeAll(fault, ['boot', 'enter'], async (many) => {
      const answers = await times(many, () => post('/sandboxes', SMALL));
      for (const answer of answers.filter(({ status }) => status !== 200))
        expectFailure(answer, 500, 'BOOT_FAILED', told);
      await Promise.all(idsOf(answers).map((id) => expectWorksOrTold(id, fault)));
    });
    await desk.clear(bystander);

    const source = await takeSnapshot(desk.client, (await desk.create()).id);
    await strikeAll(fault, ['restore', 'enter', 'resume'], async (many) => {
      const answer = await post(`/snapshots/${source}/clone`, { count: many });
      const { sandboxes } = answer.json as { sandboxes: { id?: string; error?: string }[] };
      for (const { error } of sandboxes.filter(({ id }) => id === undefined)) expect(error).toContain(told);
      await Promise.all(
        sandboxes.flatMap(({ id }) => (id === undefined ? [] : [expectWorksOrTold(id, fault)])),
      );
    });
    await desk.clear(bystander);

    await strikeAll(fault, ['capture'], async (many) => {
      const boxes: Sandbox[] = [];
      for (let at = 0; at < many; at += 1) boxes.push(await desk.create());
      await times(many, async (at) => {
        const id = boxes[at]?.id ?? '';
        const answer = await post(`/sandboxes/${id}/snapshot`);
        if (answer.status === 200) return;
        expectFailure(answer, 500, 'SNAPSHOT_FAILED', id);
        await expectWorksOrTold(id, fault);
      });
    });
    expect(await bystander.sh('echo well')).toBe('well');
    await desk.clear();
  },
);

function idsOf(answers: readonly Answer[]): string[] {
  return answers.flatMap(({ status, json }) => (status === 200 ? [(json as { id: string }).id] : []));
}

import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { FakeMetrics } from '../testing/fake-metrics.ts';
import { Activity } from './activity.ts';
import { SandboxLeft, Streams } from './streams.ts';

function setUp() {
  const metrics = new FakeMetrics();
  const activity = new Activity();
  return { metrics, activity, streams: new Streams(metrics, activity) };
}

const codeOf = (code: string) => expect.objectContaining({ code }) as Error;

test('an open stream is counted and keeps its sandbox from being idle', async () => {
  const { metrics, activity, streams } = setUp();
  expect(activity.idleMs('a')).toBeUndefined();
  const first = streams.open('a', 'pty');
  const second = streams.open('a', 'logs');
  expect(metrics.streams).toEqual(
    new Map([
      ['pty', 1],
      ['logs', 1],
    ]),
  );
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  expect(activity.idleMs('a')).toBe(0);
  second[Symbol.dispose]();
  await sleep(5);
  expect(activity.idleMs('a')).toBeGreaterThan(1);
  expect(metrics.streams).toEqual(
    new Map([
      ['pty', 0],
      ['logs', 0],
    ]),
  );
});

test('a limit is for one kind in one sandbox', () => {
  const { streams } = setUp();
  const first = streams.open('a', 'pty', 1);
  streams.open('a', 'logs', 1);
  streams.open('b', 'pty', 1);
  expect(() => streams.open('a', 'pty', 1)).toThrow(codeOf('TOO_MANY_STREAMS'));
  first[Symbol.dispose]();
  streams.open('a', 'pty', 1);
});

test('streams end with their sandbox, and learn why', () => {
  const { streams, activity } = setUp();
  const left: string[] = [];
  streams.onLeft((id) => left.push(id));
  const mine = streams.open('a', 'pty');
  const other = streams.open('b', 'pty');
  streams.end('a', 'snapshotted');
  expect(mine.left.reason).toEqual(new SandboxLeft('snapshotted'));
  expect(other.left.aborted).toBe(false);
  expect(left).toEqual(['a']);
  expect(activity.idleMs('a')).toBeUndefined();
});

test('after the shutdown nothing opens any more', () => {
  const { streams } = setUp();
  const open = streams.open('a', 'tunnel');
  streams.shutdown();
  expect(open.left.reason).toEqual(new SandboxLeft('shutdown'));
  expect(() => streams.open('a', 'pty')).toThrow(codeOf('SHUTTING_DOWN'));
});

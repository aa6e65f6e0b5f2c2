import { beforeEach, describe, expect, test } from 'vitest';
import type { History } from '../../ports/history.ts';

const sandbox = (id: string, name?: string) => ({
  id,
  name,
  tags: { of: id },
  imageId: undefined,
  createdAtUnix: 7,
});

/** What every History keeps. */
export function historySuite(name: string, setUp: () => History): void {
  describe(name, () => {
    let history: History;
    beforeEach(() => {
      history = setUp();
    });
    const idsOf = (liveOnly: boolean, limit = 10) => history.list({ liveOnly, limit }).map(({ id }) => id);

    test('what lives has no end, and what has ended shows how', () => {
      history.began(sandbox('a', 'web'));
      expect(history.list({ liveOnly: false, limit: 1 })).toEqual([
        { ...sandbox('a', 'web'), end: undefined },
      ]);
      const end = { reason: 'snapshotted', atUnix: 9, finalSnapshotId: 's' } as const;
      history.ended('a', end);
      expect(history.list({ liveOnly: false, limit: 1 })).toEqual([{ ...sandbox('a', 'web'), end }]);
    });

    test('the newest comes first, and no more than asked for', () => {
      for (const id of ['a', 'b', 'c']) history.began(sandbox(id));
      history.ended('b', { reason: 'destroyed', atUnix: 9 });
      expect(idsOf(false)).toEqual(['c', 'b', 'a']);
      expect(idsOf(true)).toEqual(['c', 'a']);
      expect(idsOf(false, 2)).toEqual(['c', 'b']);
    });

    test('an id is noted once, and its first end counts', () => {
      history.began(sandbox('a'));
      expect(() => history.began(sandbox('a'))).toThrow();
      history.ended('a', { reason: 'destroyed', atUnix: 9 });
      history.ended('a', { reason: 'snapshotted', atUnix: 10 });
      history.ended('unknown', { reason: 'destroyed', atUnix: 9 });
      expect(history.list({ liveOnly: false, limit: 10 }).map(({ end }) => end?.reason)).toEqual([
        'destroyed',
      ]);
    });

    test('what a daemon left behind is orphaned, and nothing else', () => {
      for (const id of ['a', 'b', 'c']) history.began(sandbox(id));
      history.ended('a', { reason: 'destroyed', atUnix: 8 });
      expect(history.orphanLive(9)).toBe(2);
      expect(idsOf(true)).toEqual([]);
      expect(history.list({ liveOnly: false, limit: 3 }).map(({ end }) => end?.reason)).toEqual([
        'orphaned_by_restart',
        'orphaned_by_restart',
        'destroyed',
      ]);
      expect(history.orphanLive(10)).toBe(0);
    });
  });
}

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pino } from 'pino';
import { afterAll, expect, test } from 'vitest';
import { reasonOf } from '../../lib/errors.ts';
import { historySuite } from '../../testing/suites/history.ts';
import { SqliteHistory } from './history.ts';

const dir = mkdtempSync(join(tmpdir(), 'atoll-history-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

let number = 0;
const log = pino({ level: 'silent' });
const nextPath = () => join(dir, `${(number += 1)}.db`);
const sandbox = (id: string) => ({ id, name: undefined, tags: {}, imageId: undefined, createdAtUnix: 7 });

// It touches nothing but its file, so it is held to the suite among the unit tests.
historySuite('SqliteHistory', () => SqliteHistory.open(nextPath(), log));

test('what was written is there for the next, however the last ended', () => {
  const path = nextPath();
  const first = SqliteHistory.open(path, log);
  first.began(sandbox('a'));
  // Still open: as if its process had been killed.
  using second = SqliteHistory.open(path, log);
  expect(second.orphanLive(9)).toBe(1);
  first[Symbol.dispose]();
});

test('the log between checkpoints is written back in time, and nothing is lost by it', async () => {
  const path = nextPath();
  const history = SqliteHistory.open(path, log);
  for (let index = 0; index < 4100; index += 1) history.began(sandbox(`s${index}`));
  await expect.poll(() => rowsInFileAlone(path)).toBeGreaterThan(0);
  expect(history.list({ liveOnly: true, limit: 5000 })).toHaveLength(4100);
  history[Symbol.dispose]();
});

/** Rows that are in the file itself, whatever its log holds. */
function rowsInFileAlone(path: string): number {
  const copy = nextPath();
  writeFileSync(copy, readFileSync(path));
  using database = new DatabaseSync(copy);
  try {
    return Number(database.prepare('SELECT count(*) AS rows FROM sandboxes').get()?.rows);
  } catch {
    return 0;
  }
}

test.each([
  [
    'is no database',
    (path: string) => writeFileSync(path, 'no database at all, but long enough to be read as one'),
    'move it away',
  ],
  ['was written by a later release', writeLater, 'a later release wrote it'],
])('a file that %s is refused by its name, saying what is wrong', (_, spoil, told) => {
  const path = nextPath();
  spoil(path);
  for (const part of [path, told]) expect(refusalOf(path)).toContain(part);
});

/** Why a file is not opened, as the daemon says it. */
function refusalOf(path: string): string {
  try {
    using _opened = SqliteHistory.open(path, log);
    return 'it was opened';
  } catch (error) {
    return reasonOf(error);
  }
}

function writeLater(path: string): void {
  using database = new DatabaseSync(path);
  database.exec('PRAGMA user_version = 99');
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import { SqliteHistory } from './history.ts';

const DRIVER = fileURLToPath(new URL('../../testing/history-driver.ts', import.meta.url));
const ROUNDS = 3;
const LINES_A_ROUND = 700;

/** Runs the driver until it has said that many lines, kills it, and answers all it said. */
async function runAndKill(path: string, output: string): Promise<string[]> {
  const file = openSync(output, 'w');
  const child = spawn(process.execPath, [DRIVER, path], { stdio: ['ignore', file, 'inherit'] });
  closeSync(file);
  const exited = once(child, 'exit');
  const said = () => readFileSync(output, 'utf8').trimEnd().split('\n');
  await vi.waitUntil(() => said().length >= LINES_A_ROUND, { timeout: 20_000, interval: 20 });
  child.kill('SIGKILL');
  await exited;
  return said();
}

test('whoever is killed, and however often, all it said it had done is in the history', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'atoll-history-'));
  const path = join(dir, 'history.db');
  try {
    const expected = new Map<string, string>();
    for (let round = 0; round < ROUNDS; round += 1) {
      const [orphaned = '', ...lines] = await runAndKill(path, join(dir, 'said'));
      const left = [...expected].filter(([, reason]) => reason === 'live');
      // The last thing it did may have been left unsaid: one more or less may live.
      expect(Math.abs(Number(orphaned.split(' ')[1]) - left.length)).toBeLessThanOrEqual(1);
      for (const [id] of left) expected.set(id, 'orphaned_by_restart');
      for (const [what = '', id = ''] of lines.map((line) => line.split(' ')))
        expected.set(id, what === 'began' ? 'live' : 'destroyed');
    }
    using history = SqliteHistory.open(path, pino({ level: 'silent' }));
    const found = new Map(
      history.list({ liveOnly: false, limit: 100_000 }).map(({ id, end }) => [id, end?.reason ?? 'live']),
    );
    const wrong = [...expected].filter(([id, reason]) => found.get(id) !== reason);
    expect(found.size).toBeLessThanOrEqual(expected.size + ROUNDS);
    expect(expected.size).toBeGreaterThan(900);
    // What was ended, unsaid, at each kill.
    expect(wrong.length).toBeLessThanOrEqual(ROUNDS);
    for (const [id] of wrong) expect(found.get(id)).toBe('destroyed');
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

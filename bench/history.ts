/** What a line of history costs a create, and what it takes to read it, with 100,000 sandboxes in it. Changes nothing. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqliteHistory } from '../packages/daemon/src/adapters/history-sqlite/history.ts';
import { createLogger } from '../packages/daemon/src/lib/logger.ts';
import { RequestScope } from '../packages/daemon/src/lib/request-context.ts';

const ROWS = 100_000;
const READS = 50;

const dir = mkdtempSync(join(tmpdir(), 'atoll-bench-'));
const times: Record<string, number[]> = {};

function time<T>(what: string, work: () => T): T {
  const started = performance.now();
  const result = work();
  (times[what] ??= []).push(performance.now() - started);
  return result;
}

try {
  using history = SqliteHistory.open(
    join(dir, 'history.db'),
    createLogger('json', 'warn', new RequestScope()),
  );
  for (let index = 0; index < ROWS; index += 1) {
    const id = crypto.randomUUID();
    const sandbox = {
      id,
      name: `sandbox-${index}`,
      tags: { of: 'bench' },
      imageId: undefined,
      createdAtUnix: index,
    };
    time('a sandbox begins', () => history.began(sandbox));
    if (index % 1000 > 0)
      time('a sandbox ends', () => history.ended(id, { reason: 'destroyed', atUnix: index }));
    // As the daemon does between two requests.
    if (index % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  for (let index = 0; index < READS; index += 1) {
    time('the newest 100', () => history.list({ liveOnly: false, limit: 100 }));
    time('the newest 1000', () => history.list({ liveOnly: false, limit: 1000 }));
    time('the 100 that live', () => history.list({ liveOnly: true, limit: 100 }));
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}

for (const [what, all] of Object.entries(times)) {
  const sorted = all.toSorted((a, b) => a - b);
  const at = (part: number) => (sorted[Math.ceil(part * sorted.length) - 1] ?? 0).toFixed(3);
  console.log(
    `${what.padEnd(18)} p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms (${sorted.length}, ${ROWS} rows)`,
  );
}

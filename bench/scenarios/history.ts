import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqliteHistory } from '../../packages/daemon/src/adapters/history-sqlite/history.ts';
import { createLogger } from '../../packages/daemon/src/lib/logger.ts';
import { RequestScope } from '../../packages/daemon/src/lib/request-context.ts';
import type { Lab } from '../lab.ts';
import { atMost } from '../scenario.ts';
import type { Outcome, Scenario } from '../scenario.ts';
import { quantile } from '../statistics.ts';

const ROWS = 100_000;
const READS = 50;

/** What a line of history costs a create, and what it takes to read it, with 100,000 sandboxes in it. No sandbox runs. */
export const history: Scenario = {
  name: 'history',
  title: 'History of 100,000 sandboxes',
  async run(_lab: Lab): Promise<Outcome> {
    const dir = mkdtempSync(join(tmpdir(), 'atoll-bench-'));
    const [began, ended, newest, live]: [number[], number[], number[], number[]] = [[], [], [], []];
    const time = (into: number[], work: () => unknown) => {
      const started = performance.now();
      work();
      into.push(performance.now() - started);
    };
    try {
      const log = createLogger('json', 'warn', new RequestScope());
      using store = SqliteHistory.open(join(dir, 'history.db'), log);
      for (let index = 0; index < ROWS; index += 1) {
        const id = crypto.randomUUID();
        const sandbox = {
          id,
          name: `sandbox-${index}`,
          tags: { of: 'bench' },
          imageId: undefined,
          createdAtUnix: index,
        };
        time(began, () => store.began(sandbox));
        if (index % 1000 > 0) time(ended, () => store.ended(id, { reason: 'destroyed', atUnix: index }));
        // As the daemon does between two requests.
        if (index % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      for (let index = 0; index < READS; index += 1) {
        time(newest, () => store.list({ liveOnly: false, limit: 1000 }));
        time(live, () => store.list({ liveOnly: true, limit: 1000 }));
      }
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
    return {
      series: [
        { name: 'a sandbox begins', unit: 'ms', values: began },
        { name: 'a sandbox ends', unit: 'ms', values: ended },
        { name: 'the newest thousand', unit: 'ms', values: newest },
        { name: 'the live ones', unit: 'ms', values: live },
      ],
      goals: [
        atMost('a sandbox begins, p99', quantile(began, 0.99), 1, 'ms'),
        atMost('the newest thousand', Math.max(...newest), 20, 'ms'),
      ],
    };
  },
};

import { expect, it } from 'vitest';
import { Daemon } from '../harness/daemon.ts';
import { Churn } from './churn.ts';
import type { Past } from './churn.ts';

// A thousand of them, as this variable may say, take ten minutes.
const CREATES = Number(process.env.ATOLL_TEST_CREATES ?? 40);
const KILLS = 3;

it(
  'history matches what happened, with the daemon killed again and again',
  { timeout: 3_600_000 },
  async () => {
    await using stack = new AsyncDisposableStack();
    const churn = new Churn({ creates: CREATES, kills: KILLS });
    const daemon = stack.use(await churn.run(await Daemon.start()));
    const list = async (query: string) => {
      const { json } = await daemon.client.call('GET', `/sandboxes/history?${query}`);
      return (json as { history: Past[] }).history;
    };
    const history = await list('limit=1000');
    expect(history.length).toBeGreaterThanOrEqual(CREATES - KILLS * 4);
    expect(churn.faults(history)).toEqual([]);
    expect(history.filter(({ end_reason }) => end_reason === 'orphaned_by_restart').length).toBeGreaterThan(
      0,
    );
    expect(await list('limit=7')).toEqual(history.slice(0, 7));
    expect(await list('live_only=true')).toEqual([]);
  },
);

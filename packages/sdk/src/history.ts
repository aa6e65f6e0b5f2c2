import { Atoll } from './atoll.ts';
import type { ConnectOptions } from './atoll.ts';
import type { HistoryRecord } from './generated/api.ts';

export type { HistoryRecord } from './generated/api.ts';

export interface HistoryOptions extends ConnectOptions {
  /** Leaves out what has ended. */
  readonly live_only?: boolean | undefined;
  /** How many at most, 1 to 1000; 100 when absent. */
  readonly limit?: number | undefined;
}

/** Every sandbox that is or was, the newest first. */
export async function history({ live_only, limit, ...options }: HistoryOptions = {}): Promise<
  HistoryRecord[]
> {
  const query = {
    ...(live_only === undefined ? {} : { live_only: flag(live_only) }),
    ...(limit === undefined ? {} : { limit: String(limit) }),
  };
  return (await Atoll.of(options).call('get', '/sandboxes/history', { query, ...options })).history;
}

/** A boolean as queries have it. */
function flag(value: boolean): 'true' | 'false' {
  return value ? 'true' : 'false';
}

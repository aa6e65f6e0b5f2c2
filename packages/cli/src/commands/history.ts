import { history } from '@atoll/sdk';
import type { HistoryRecord } from '@atoll/sdk';
import type { Command } from 'commander';
import { work } from '../call.ts';
import type { Call } from '../call.ts';
import type { Context } from '../context.ts';
import type { Column } from '../output/table.ts';
import { age, pairs, shortId } from '../output/text.ts';
import { whole } from '../values/size.ts';

interface Options {
  readonly live?: boolean;
  readonly limit?: number;
}

const COLUMNS: readonly Column<HistoryRecord>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name ?? '', rank: 9, isElastic: true },
  { title: 'AGE', of: ({ created_at_unix }) => age(created_at_unix), rank: 7 },
  { title: 'ENDED', of: ({ ended_at_unix }) => (ended_at_unix === null ? '' : age(ended_at_unix)), rank: 5 },
  {
    title: 'REASON',
    of: ({ end_reason, ended_at_unix }) => (ended_at_unix === null ? 'lives' : (end_reason ?? '')),
    rank: 8,
  },
  { title: 'SNAPSHOT', of: ({ final_snapshot_id }) => shortId(final_snapshot_id ?? ''), rank: 4 },
  { title: 'IMAGE', of: ({ image_id }) => image_id ?? '', rank: 3, isElastic: true },
  { title: 'TAGS', of: ({ tags }) => pairs(tags), rank: 2, isElastic: true },
];

export function historyCommand(parent: Command, context: Context): void {
  const command = parent
    .command('history')
    .description('every sandbox that is or was, the newest first')
    .option('--live', 'only those that live')
    .option('--limit <count>', 'how many at most, 1000 at most (100)', (text: string) => whole(text));
  work(command, context, show);
}

async function show({ options, out, client, signal }: Call<Options>): Promise<void> {
  const items = await history({ client, signal, live_only: options.live, limit: options.limit });
  out.list(items, COLUMNS, ({ id }) => id);
}

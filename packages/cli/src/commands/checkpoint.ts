import { Checkpoint } from '@atoll/sdk';
import type { CheckpointInfo } from '@atoll/sdk';
import type { Command } from 'commander';
import { work } from '../call.ts';
import type { Call } from '../call.ts';
import type { Context } from '../context.ts';
import { CommandError, EXIT } from '../errors.ts';
import type { Column } from '../output/table.ts';
import { age, pairs, shortId } from '../output/text.ts';
import { removal } from './rm.ts';

const COLUMNS: readonly Column<CheckpointInfo>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name ?? '', rank: 9, isElastic: true },
  { title: 'AGE', of: ({ created_at_unix }) => age(created_at_unix), rank: 8 },
  { title: 'RETIRED', of: ({ retired_at_unix }) => age(retired_at_unix), rank: 6 },
  { title: 'PINNED', of: ({ pinned }) => (pinned ? 'yes' : ''), rank: 7 },
  { title: 'PARENT', of: ({ parent_snapshot_id }) => shortId(parent_snapshot_id ?? ''), rank: 3 },
  { title: 'TAGS', of: ({ tags }) => pairs(tags), rank: 2, isElastic: true },
];

export function checkpointCommand(parent: Command, context: Context): void {
  const noun = parent
    .command('checkpoint')
    .description('snapshots that were resumed: "atoll restore" brings one up again');
  const list = noun
    .command('ls')
    .description('the checkpoints')
    .option('--of <sandbox>', 'only those of the sandbox of this id')
    .option('--parent <snapshot>', 'only those of sandboxes that came out of this snapshot');
  work(list, context, ls);
  removal(noun, context, 'checkpoints', (id, options) => Checkpoint.delete(id, options));
  for (const verb of ['pin', 'unpin'] as const) {
    const text =
      verb === 'pin' ? 'let the limits on history leave it alone' : 'let the limits on history count again';
    const command = noun.command(verb).description(text).argument('<checkpoint>', 'its id');
    work(command, context, (call: Call<object>, id: string) => pin(call, id, verb === 'pin'));
  }
  const sweep = noun
    .command('prune')
    .description("remove what is beyond the daemon's limits on history")
    .option('--dry-run', 'only show what that would be');
  work(sweep, context, prune);
}

async function ls(call: Call<{ readonly of?: string; readonly parent?: string }>): Promise<void> {
  const { options, out, client, signal } = call;
  const filter = { source_sandbox_id: options.of, parent_snapshot_id: options.parent };
  const items: readonly CheckpointInfo[] = await Checkpoint.list({ client, signal, ...filter });
  out.list(
    items.map((item) => ({ ...item })),
    COLUMNS,
    ({ id }) => id,
  );
}

async function pin({ out, client, signal }: Call<object>, id: string, pinned: boolean): Promise<void> {
  const checkpoint = (await Checkpoint.list({ client, signal })).find((each) => each.id === id);
  if (checkpoint === undefined)
    throw new CommandError(`checkpoint not found: ${id}`, '"atoll checkpoint ls" shows them', EXIT.notFound);
  out.made(await checkpoint.pin(pinned, { signal }), id);
}

async function prune({ options, out, client, signal }: Call<{ readonly dryRun?: boolean }>): Promise<void> {
  const pruned = await Checkpoint.prune({ client, signal, dry_run: options.dryRun });
  if (out.isJson) out.json(pruned);
  else out.lines(pruned.checkpoints.map(({ id }) => id));
}

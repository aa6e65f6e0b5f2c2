import { Sandbox, Snapshot } from '@atoll/sdk';
import type { SnapshotInfo } from '@atoll/sdk';
import type { Command } from 'commander';
import { work } from '../call.ts';
import type { Call } from '../call.ts';
import type { Context } from '../context.ts';
import type { Column } from '../output/table.ts';
import { age, bytes, pairs, shortId } from '../output/text.ts';
import { removal } from './rm.ts';

interface Options {
  readonly of?: string;
  readonly parent?: string;
}

const MIB = 1024 * 1024;

const COLUMNS: readonly Column<SnapshotInfo>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name ?? '', rank: 9, isElastic: true },
  { title: 'AGE', of: ({ created_at_unix }) => age(created_at_unix), rank: 8 },
  { title: 'MEMORY', of: ({ mem_size_mib }) => bytes(mem_size_mib * MIB), rank: 5, align: 'right' },
  { title: 'PARENT', of: ({ parent_snapshot_id }) => shortId(parent_snapshot_id ?? ''), rank: 4 },
  { title: 'FORK', of: ({ forked_into }) => shortId(forked_into ?? ''), rank: 6 },
  {
    title: 'ARCHIVED',
    of: ({ archived_at_unix }) => (archived_at_unix === null ? '' : age(archived_at_unix)),
    rank: 3,
  },
  { title: 'TAGS', of: ({ tags }) => pairs(tags), rank: 2, isElastic: true },
];

export function snapshotCommand(parent: Command, context: Context): void {
  const noun = parent
    .command('snapshot')
    .description('sandboxes that were stopped and kept: "atoll snapshot <sandbox>" makes one');
  const take = noun
    .command('take', { isDefault: true })
    .description('stop a sandbox and keep its memory and disk; the word "take" can be left out')
    .argument('<sandbox>', 'its id or name');
  work(take, context, snapshot, { interrupted: '"atoll ls" shows whether it was stopped' });
  const list = noun
    .command('ls')
    .description('the snapshots')
    .option('--of <sandbox>', 'only that of the sandbox of this id')
    .option('--parent <snapshot>', 'only those of sandboxes that came out of this snapshot');
  work(list, context, ls);
  removal(noun, context, 'snapshots', (id, options) => Snapshot.delete(id, options));
}

async function snapshot({ out, client, signal }: Call<object>, name: string): Promise<void> {
  const sandbox = await Sandbox.get(name, { client, signal });
  const { id } = await sandbox.snapshot({ signal });
  out.made({ snapshot_id: id }, id);
}

async function ls({ options, out, client, signal }: Call<Options>): Promise<void> {
  const filter = { source_sandbox_id: options.of, parent_snapshot_id: options.parent };
  const items: readonly SnapshotInfo[] = await Snapshot.list({ client, signal, ...filter });
  out.list(
    items.map((item) => ({ ...item })),
    COLUMNS,
    ({ id }) => id,
  );
}

import { Drive } from '@atoll/sdk';
import type { DriveInfo } from '@atoll/sdk';
import type { Command } from 'commander';
import { work } from '../call.ts';
import type { Call } from '../call.ts';
import type { Context } from '../context.ts';
import type { Column } from '../output/table.ts';
import { age, bytes } from '../output/text.ts';
import { mib } from '../values/size.ts';
import { removal } from './rm.ts';

const MIB = 1024 * 1024;

const COLUMNS: readonly Column<DriveInfo>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'SIZE', of: ({ size_mib }) => bytes(size_mib * MIB), rank: 4, align: 'right' },
  { title: 'AGE', of: ({ created_at_unix }) => age(created_at_unix), rank: 3 },
  {
    title: 'ATTACHED TO',
    of: ({ attached_to }) =>
      attached_to.map(({ holder, read_only }) => holder + (read_only ? ' (ro)' : '')).join(', '),
    rank: 2,
    isElastic: true,
  },
];

export function driveCommand(parent: Command, context: Context): void {
  const noun = parent
    .command('drive')
    .description('disks that outlive sandboxes: "atoll create --drive <id>" attaches one');
  const make = noun
    .command('create')
    .description('make an empty drive')
    .argument('<size>', 'its size: 512M, 10G', mib);
  work(make, context, create);
  work(noun.command('ls').description('the drives'), context, ls);
  removal(noun, context, 'drives', (id, options) => Drive.delete(id, options));
}

async function create({ out, client, signal }: Call<object>, size_mib: number): Promise<void> {
  const drive: DriveInfo = await Drive.create({ size_mib }, { client, signal });
  out.made({ ...drive }, drive.id);
}

async function ls({ out, client, signal }: Call<object>): Promise<void> {
  const items: readonly DriveInfo[] = await Drive.list({ client, signal });
  out.list(
    items.map((item) => ({ ...item })),
    COLUMNS,
    ({ id }) => id,
  );
}

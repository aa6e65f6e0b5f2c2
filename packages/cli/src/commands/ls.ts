import { Sandbox } from '@atoll/sdk';
import type { SandboxInfo } from '@atoll/sdk';
import type { Command } from 'commander';
import { work } from '../call.ts';
import type { Call } from '../call.ts';
import type { Context } from '../context.ts';
import type { Column } from '../output/table.ts';
import { age, bytes, pairs } from '../output/text.ts';
import { keyValue } from '../values/pairs.ts';

interface Options {
  readonly tag?: Readonly<Record<string, string>>;
}

const MIB = 1024 * 1024;

const COLUMNS: readonly Column<SandboxInfo>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name ?? '', rank: 9, isElastic: true },
  { title: 'AGE', of: ({ created_at_unix }) => age(created_at_unix), rank: 6 },
  { title: 'CPUS', of: ({ vcpu_count }) => String(vcpu_count), rank: 4, align: 'right' },
  { title: 'MEMORY', of: ({ mem_size_mib }) => bytes(mem_size_mib * MIB), rank: 5, align: 'right' },
  { title: 'IMAGE', of: ({ image_id }) => image_id ?? '', rank: 3, isElastic: true },
  { title: 'TAGS', of: ({ tags }) => pairs(tags), rank: 2, isElastic: true },
];

export function lsCommand(parent: Command, context: Context): void {
  const command = parent
    .command('ls')
    .description('the sandboxes that live')
    .option('--tag <key=value>', 'only those with this tag; any number of them', keyValue);
  work(command, context, ls);
}

async function ls({ options, out, client, signal }: Call<Options>): Promise<void> {
  const items: readonly SandboxInfo[] = await Sandbox.list({ client, signal, tags: options.tag });
  out.list(items.map(plain), COLUMNS, ({ id }) => id);
}

/** An item without the methods of its handle. */
function plain(item: SandboxInfo): SandboxInfo {
  return { ...item };
}

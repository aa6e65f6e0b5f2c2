import { resolve } from 'node:path';
import { Image } from '@atoll/sdk';
import type { ImageInfo } from '@atoll/sdk';
import type { Command } from 'commander';
import { work } from '../call.ts';
import type { Call } from '../call.ts';
import type { Context } from '../context.ts';
import type { Column } from '../output/table.ts';
import { age, bytes } from '../output/text.ts';
import { removal } from './rm.ts';

const MIB = 1024 * 1024;

const COLUMNS: readonly Column<ImageInfo>[] = [
  { title: 'ID', of: ({ id }) => id, isElastic: true },
  { title: 'SIZE', of: ({ size_mib }) => bytes(size_mib * MIB), rank: 4, align: 'right' },
  { title: 'AGE', of: ({ created_at_unix }) => age(created_at_unix), rank: 3 },
  { title: 'USED BY', of: ({ in_use_by }) => in_use_by?.join(', ') ?? '', rank: 2, isElastic: true },
];

export function imageCommand(parent: Command, context: Context): void {
  const noun = parent
    .command('image')
    .description('root file systems to boot from: "atoll create --image <id>"');
  const make = noun
    .command('create')
    .description("register an ext4 file of the daemon's host; it is copied")
    .argument('<id>', 'how it is to be called')
    .argument('<file>', "its path on the daemon's host");
  work(make, context, create, { interrupted: 'nothing is registered' });
  work(noun.command('ls').description('the images'), context, ls);
  removal(noun, context, 'images', (id, options) => Image.delete(id, options));
}

async function create(call: Call<object>, id: string, file: string): Promise<void> {
  const { out, client, signal, context } = call;
  const image: ImageInfo = await Image.register(
    { id, path: resolve(context.cwd, file) },
    { client, signal, timeoutMs: Infinity },
  );
  out.made({ ...image }, image.id);
  out.note(image.verification_hint);
}

async function ls({ out, client, signal }: Call<object>): Promise<void> {
  const items: readonly ImageInfo[] = await Image.list({ client, signal });
  out.list(
    items.map((item) => ({ ...item })),
    COLUMNS,
    ({ id }) => id,
  );
}

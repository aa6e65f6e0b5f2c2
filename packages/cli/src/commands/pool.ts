import { Pool } from '@atoll/sdk';
import type { PoolInfo } from '@atoll/sdk';
import type { Command } from 'commander';
import { work } from '../call.ts';
import type { Call } from '../call.ts';
import type { Context } from '../context.ts';
import type { Column } from '../output/table.ts';
import { bytes } from '../output/text.ts';
import { mib, whole } from '../values/size.ts';
import { removal } from './rm.ts';

interface Options {
  readonly warm: number;
  readonly max?: number;
  readonly cpus?: number;
  readonly memory?: number;
  readonly image?: string;
}

const MIB = 1024 * 1024;

const COLUMNS: readonly Column<PoolInfo>[] = [
  { title: 'ID', of: ({ id }) => id, isElastic: true },
  { title: 'WARM', of: ({ warm_ready, warm_count }) => `${warm_ready} of ${warm_count}`, rank: 6 },
  { title: 'IN USE', of: ({ claimed }) => String(claimed), rank: 5, align: 'right' },
  {
    title: 'MOST',
    of: ({ max_count }) => (max_count === null ? '' : String(max_count)),
    rank: 3,
    align: 'right',
  },
  { title: 'CPUS', of: ({ vcpu_count }) => String(vcpu_count), rank: 2, align: 'right' },
  { title: 'MEMORY', of: ({ mem_size_mib }) => bytes(mem_size_mib * MIB), rank: 2, align: 'right' },
  { title: 'IMAGE', of: ({ image_id }) => image_id ?? '', rank: 4, isElastic: true },
];

export function poolCommand(parent: Command, context: Context): void {
  const noun = parent
    .command('pool')
    .description('instances kept warm, so that a create of their kind takes one');
  const make = noun
    .command('create')
    .description('keep instances of a kind warm')
    .argument('<id>', 'how it is to be called')
    .requiredOption('--warm <count>', 'how many are kept ready', (text: string) => whole(text, 0))
    .option(
      '--max <count>',
      'how many of them and of sandboxes of the kind there are at most',
      (text: string) => whole(text),
    )
    .option('-c, --cpus <count>', 'virtual CPUs', (text: string) => whole(text))
    .option('-m, --memory <size>', 'memory: 512M, 2G', mib)
    .option('--image <id>', 'an image to boot from');
  work(make, context, create);
  work(noun.command('ls').description('the pools'), context, ls);
  removal(noun, context, 'pools', (id, options) => Pool.delete(id, options));
}

async function create({ options, out, client, signal }: Call<Options>, id: string): Promise<void> {
  const { warm, max, cpus, memory, image } = options;
  const body = {
    id,
    warm_count: warm,
    ...(max === undefined ? {} : { max_count: max }),
    ...(cpus === undefined ? {} : { vcpu_count: cpus }),
    ...(memory === undefined ? {} : { mem_size_mib: memory }),
    ...(image === undefined ? {} : { image_id: image }),
  };
  const pool: PoolInfo = await Pool.create(body, { client, signal });
  out.made({ ...pool }, pool.id);
}

async function ls({ out, client, signal }: Call<object>): Promise<void> {
  const items: readonly PoolInfo[] = await Pool.list({ client, signal });
  out.list(
    items.map((item) => ({ ...item })),
    COLUMNS,
    ({ id }) => id,
  );
}

import { Sandbox } from '@atoll/sdk';
import type { Mount } from '@atoll/sdk';
import type { Command } from 'commander';
import { work } from '../call.ts';
import type { Call } from '../call.ts';
import type { Context } from '../context.ts';
import type { Column } from '../output/table.ts';
import { storeKeys } from '../values/store-keys.ts';
import { removeAll } from './rm.ts';

interface Options {
  readonly endpoint: string;
  readonly readOnly?: boolean;
  readonly keysFile?: string;
}

const COLUMNS: readonly Column<Mount>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'BUCKET', of: ({ bucket }) => bucket, rank: 5, isElastic: true },
  { title: 'PATH', of: ({ mount_path }) => mount_path, rank: 4, isElastic: true },
  { title: 'MODE', of: ({ read_only }) => (read_only ? 'ro' : 'rw'), rank: 3 },
  { title: 'ENDPOINT', of: ({ endpoint }) => endpoint, rank: 2, isElastic: true },
];

export function mountCommand(parent: Command, context: Context): void {
  const noun = parent.command('mount').description('buckets of an object store, at paths inside a sandbox');
  const make = noun
    .command('create')
    .description('mount a bucket; its keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a file')
    .argument('<sandbox>', 'its id or name')
    .argument('<bucket>', 'the bucket')
    .argument('<path>', 'where, inside the sandbox')
    .requiredOption('--endpoint <url>', "the object store's address")
    .option(
      '--keys-file <file>',
      'a file with both keys, as JSON or as lines of a credentials file; - is stdin',
    )
    .option('--read-only', 'nothing is written to it');
  work(make, context, create, { interrupted: '"atoll mount ls" shows whether it is mounted' });
  work(
    noun.command('ls').description("a sandbox's mounts").argument('<sandbox>', 'its id or name'),
    context,
    ls,
  );
  const remove = noun
    .command('rm')
    .description('unmount, once everything written is in the bucket')
    .argument('<sandbox>', 'its id or name')
    .argument('<mount...>', 'ids');
  work(remove, context, rm);
}

async function create(call: Call<Options>, name: string, bucket: string, mount_path: string): Promise<void> {
  const { options, out, client, signal, context } = call;
  const keys = await storeKeys(options.keysFile, context);
  const sandbox = await Sandbox.get(name, { client, signal });
  const body = {
    bucket,
    endpoint: options.endpoint,
    mount_path,
    read_only: options.readOnly === true,
    ...keys,
  };
  const mount = await sandbox.mounts.create(body, { signal });
  out.made(mount, mount.id);
}

async function ls({ out, client, signal }: Call<object>, name: string): Promise<void> {
  const sandbox = await Sandbox.get(name, { client, signal });
  out.list(await sandbox.mounts.list({ signal }), COLUMNS, ({ id }) => id);
}

async function rm(
  { out, client, signal }: Call<object>,
  name: string,
  ids: readonly string[],
): Promise<number> {
  const sandbox = await Sandbox.get(name, { client, signal });
  return removeAll(out, ids, (id) => sandbox.mounts.delete(id, { signal }));
}

import { Sandbox } from '@atoll/sdk';
import type { Command } from 'commander';
import { work } from '../call.ts';
import type { Call } from '../call.ts';
import type { Context } from '../context.ts';
import { port } from '../values/size.ts';

interface Options {
  readonly path: string;
  readonly withToken?: boolean;
}

export function previewCommand(parent: Command, context: Context): void {
  const command = parent
    .command('preview')
    .description('the address of a server inside a sandbox')
    .argument('<sandbox>', 'its id or name')
    .argument('<port>', 'where the server listens', port)
    .option('--path <path>', 'what of it', '/')
    .option(
      '--with-token',
      'an address that a browser without the token can open: whoever sees it has the token',
    );
  work(command, context, preview);
}

async function preview(
  { options, out, client, signal }: Call<Options>,
  name: string,
  at: number,
): Promise<void> {
  const sandbox = await Sandbox.get(name, { client, signal });
  const url = sandbox.previewUrl(at, options.path, { withToken: options.withToken === true });
  out.made({ url }, url);
}

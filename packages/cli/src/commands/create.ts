import { Sandbox } from '@atoll/sdk';
import type { Command } from 'commander';
import { work } from '../call.ts';
import type { Call } from '../call.ts';
import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { sandboxBody, sandboxOptions } from '../sandbox-options.ts';
import type { SandboxOptions } from '../sandbox-options.ts';

type Options = SandboxOptions & { readonly get?: boolean };

export function createCommand(parent: Command, context: Context): void {
  const command = parent
    .command('create')
    .description('boot a sandbox, and show its id once a command can run in it')
    .option('--get', 'take the one of that --name if there is one, resumed if it is kept');
  sandboxOptions(command);
  work(command, context, create, { interrupted: 'no sandbox is made' });
}

async function create({ options, out, client, signal }: Call<Options>): Promise<void> {
  const body = await sandboxBody(options);
  if (options.get !== true) {
    const { id } = await Sandbox.create(body, { client, signal });
    out.made({ id }, id);
    return;
  }
  if (body.name === undefined || body.name === null) throw new UsageError('--get takes a --name');
  const { id, created } = await Sandbox.getOrCreate({ ...body, name: body.name }, { client, signal });
  out.made({ id, created }, id);
}

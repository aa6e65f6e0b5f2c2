import { Sandbox } from '@atoll/sdk';
import type { Command } from 'commander';
import { work } from '../call.ts';
import type { Call } from '../call.ts';
import type { Context } from '../context.ts';
import { EXIT } from '../errors.ts';
import { runShell } from '../remote/shell.ts';

export function shellCommand(parent: Command, context: Context): void {
  const command = parent
    .command('shell')
    .description('a login shell in a sandbox, on this terminal; the exit code is that of the shell')
    .usage('[options] <sandbox> [--] [program] [args...]')
    .argument('<sandbox>', 'its id or name')
    .argument('[program...]', 'what the shell is to become')
    .passThroughOptions();
  work(command, context, shell, { exitCode: EXIT.notRun });
}

async function shell(call: Call<object>, name: string, given: readonly string[]): Promise<number> {
  const { client, signal } = call;
  const [command, ...args] = given[0] === '--' ? given.slice(1) : given;
  const sandbox = await Sandbox.get(name, { client, signal });
  return runShell(call, sandbox, command === undefined ? undefined : { command, args });
}

import { Sandbox } from '@atoll/sdk';
import type { Command } from 'commander';
import { work } from '../call.ts';
import type { Call } from '../call.ts';
import type { Context } from '../context.ts';
import { EXIT } from '../errors.ts';
import { howOf, programOptions } from '../program-options.ts';
import type { ProgramOptions } from '../program-options.ts';
import { runProgram } from '../remote/run-program.ts';

type Options = ProgramOptions & { readonly detach?: boolean };

export function execCommand(parent: Command, context: Context): void {
  const command = parent
    .command('exec')
    .description('run a program in a sandbox; the exit code is that of the program')
    .usage('[options] <sandbox> [--] <program> [args...]')
    .argument('<sandbox>', 'its id or name')
    .argument('<program...>', 'the program and its arguments')
    .option('-d, --detach', 'leave it running, and show the id by which "atoll logs" finds it')
    .passThroughOptions();
  programOptions(command, { hasEnv: true });
  work(command, context, exec, { exitCode: EXIT.notRun });
}

async function exec(call: Call<Options>, name: string, given: readonly string[]): Promise<number> {
  const { options, out, client, signal } = call;
  const [command = '', ...args] = given[0] === '--' ? given.slice(1) : given;
  const sandbox = await Sandbox.get(name, { client, signal });
  if (options.detach !== true) return runProgram(call, sandbox, { command, args });
  const { id } = await sandbox.spawn(command, args, { ...howOf(options), signal });
  out.made({ id }, id);
  return EXIT.done;
}

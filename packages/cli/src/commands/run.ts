import { Sandbox } from '@atoll/sdk';
import type { Command } from 'commander';
import { work } from '../call.ts';
import type { Call } from '../call.ts';
import type { Context } from '../context.ts';
import { EXIT, UsageError } from '../errors.ts';
import { Interrupted } from '../interrupts.ts';
import { programOptions } from '../program-options.ts';
import type { ProgramOptions } from '../program-options.ts';
import { runProgram } from '../remote/run-program.ts';
import type { Program } from '../remote/run-program.ts';
import { runShell } from '../remote/shell.ts';
import { sandboxBody, sandboxOptions } from '../sandbox-options.ts';
import type { SandboxOptions } from '../sandbox-options.ts';

type Options = SandboxOptions & ProgramOptions & { readonly tty?: boolean; readonly keep?: boolean };

const DESTROY_MS = 60_000;

export function runCommand(parent: Command, context: Context): void {
  const command = parent
    .command('run')
    .description('boot a sandbox, run a program in it, and destroy it; the exit code is that of the program')
    .usage('[options] [--] <program> [args...]')
    .argument('[program...]', 'the program and its arguments')
    .option('-t, --tty', 'a shell on this terminal; with a program, that on a terminal')
    .option('--keep', 'stop the sandbox in place of destroying it, which keeps it as a snapshot')
    .passThroughOptions();
  sandboxOptions(command);
  programOptions(command, { hasEnv: false });
  work(command, context, run, { exitCode: EXIT.notRun, interrupted: 'no sandbox is left' });
}

async function run(call: Call<Options>, [command, ...args]: readonly string[]): Promise<number> {
  const { options, client, signal } = call;
  if (command === undefined && options.tty !== true)
    throw new UsageError('run takes a program', 'atoll run -- python3 -c "print(6*7)", or --tty for a shell');
  const program = command === undefined ? undefined : { command, args };
  const sandbox = await Sandbox.create(await sandboxBody(options), { client, signal });
  let code: number;
  try {
    // Its variables are the sandbox's own.
    const { env: _env, ...rest } = options;
    code = await inside({ ...call, options: rest }, sandbox, program);
  } catch (error) {
    await throwAway(call, sandbox);
    throw error instanceof Interrupted
      ? error.with(options.keep === true ? 'the sandbox was stopped' : 'the sandbox was destroyed')
      : error;
  }
  await throwAway(call, sandbox);
  return code;
}

function inside(call: Call<Options>, sandbox: Sandbox, program: Program | undefined): Promise<number> {
  if (program === undefined || call.options.tty === true) return runShell(call, sandbox, program);
  return runProgram(call, sandbox, program);
}

async function throwAway({ options, out }: Call<Options>, sandbox: Sandbox): Promise<void> {
  try {
    const { snapshot_id } = await sandbox.stop({ keep: options.keep === true, timeoutMs: DESTROY_MS });
    if (snapshot_id !== null) out.note(`atoll: kept as snapshot ${snapshot_id}`);
  } catch (error) {
    out.note(
      `atoll: sandbox ${sandbox.id} is left: ${(error as Error).message} ("atoll rm ${sandbox.id}" removes it)`,
    );
  }
}

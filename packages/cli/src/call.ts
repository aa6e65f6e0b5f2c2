import type { Atoll } from '@atoll/sdk';
import type { Command } from 'commander';
import { connect } from './connection.ts';
import type { ConnectionOptions } from './connection.ts';
import type { Context } from './context.ts';
import { EXIT } from './errors.ts';
import { outcomeOf } from './exit-codes.ts';
import { Interrupted } from './interrupts.ts';
import { Output } from './output/output.ts';
import type { OutputOptions } from './output/output.ts';

type Shared = ConnectionOptions & OutputOptions;

/** One call of a command: its options, the daemon, where it shows things, and when it is to end. */
export interface Call<Options> {
  readonly options: Options & Shared;
  readonly context: Context;
  readonly out: Output;
  readonly client: Atoll;
  /** Aborts at Ctrl-C, with an Interrupted. */
  readonly signal: AbortSignal;
}

/** A command's work. A number is its exit code. */
type Work<Options, Values extends unknown[]> = (
  call: Call<Options>,
  ...values: Values
) => Promise<void> | Promise<number>;

interface Rules {
  /** The exit code of whatever fails, where every other code may be a remote program's. */
  readonly exitCode?: number;
  /** What an interruption leaves, when the work itself says nothing. */
  readonly interrupted?: string;
}

const SHARED: readonly (readonly [string, string])[] = [
  ['--url <url>', 'address of the daemon (ATOLL_URL, else http://127.0.0.1:7777)'],
  ['--token-file <file>', "file with the daemon's token (else ATOLL_TOKEN)"],
  ['--json', 'results, and errors, as JSON'],
  ['-q, --quiet', 'ids alone, and no remarks'],
];

/** Adds the options that every command takes. */
export function shared(command: Command): Command {
  for (const [flags, text] of SHARED) command.option(flags, text);
  return command;
}

/** Gives a command its work, and what every command has in common. */
export function work<Options, Values extends unknown[]>(
  command: Command,
  context: Context,
  act: Work<Options, Values>,
  rules: Rules = {},
): Command {
  return shared(command).action(async (...given: unknown[]) => {
    const own = given.at(-1) as Command;
    const values = given.slice(0, -2) as Values;
    const options: Options & Shared = own.optsWithGlobals();
    const { stdout, stderr, env } = context;
    const out = new Output(stdout, stderr, env, options);
    try {
      const client = await connect(options, env);
      const { signal } = context.interrupts;
      process.exitCode = (await act({ options, context, out, client, signal }, ...values)) ?? EXIT.done;
    } catch (error) {
      const { interrupted } = rules;
      const isBare = error instanceof Interrupted && error.message === 'interrupted';
      const outcome = outcomeOf(isBare && interrupted !== undefined ? error.with(interrupted) : error);
      out.failure(outcome);
      process.exitCode =
        error instanceof Interrupted ? outcome.exitCode : (rules.exitCode ?? outcome.exitCode);
    }
  });
}

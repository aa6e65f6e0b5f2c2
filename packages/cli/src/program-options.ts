import type { Command } from 'commander';
import { variable } from './values/pairs.ts';
import { whole } from './values/size.ts';

/** What is told of how a program runs. */
export interface ProgramOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly workdir?: string;
  readonly user?: string;
  readonly timeout?: number;
  readonly interactive?: boolean;
  readonly stream?: boolean;
}

/** How a program runs; `run` has the sandbox's own variables in place of the program's. */
export function programOptions(command: Command, { hasEnv }: { readonly hasEnv: boolean }): Command {
  if (hasEnv)
    command.option('-e, --env <name[=value]>', "a variable; a name alone takes this shell's own", variable);
  return command
    .option('-w, --workdir <path>', 'where it runs (/)')
    .option('-u, --user <user>', 'as whom: a name or number, with :group if wanted (root)')
    .option('-i, --interactive', 'pass stdin on')
    .option('--timeout <seconds>', 'end it after this time, with exit code 124', (text: string) =>
      whole(text),
    )
    .option('--stream', 'show output as it comes, both kinds on stdout; so it is on a terminal')
    .option(
      '--no-stream',
      'show output at the end, each kind where it belongs; so it is into a file or pipe',
    );
}

/** What of the options the daemon is told. */
export function howOf({ env, workdir, user }: ProgramOptions): {
  env?: Record<string, string>;
  cwd?: string;
  user?: string;
} {
  return {
    ...(env === undefined ? {} : { env: { ...env } }),
    ...(workdir === undefined ? {} : { cwd: workdir }),
    ...(user === undefined ? {} : { user }),
  };
}

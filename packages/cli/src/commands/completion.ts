import { Argument } from 'commander';
import type { Command } from 'commander';
import { candidates } from '../completion/candidates.ts';
import { SCRIPTS } from '../completion/scripts.ts';
import { connect } from '../connection.ts';
import type { Context } from '../context.ts';

/** `completion`, which shows what a shell is to be told, and the hidden `__complete` that this then calls. */
export function completionCommands(program: Command, context: Context): void {
  program
    .command('completion')
    .description('what a shell has to be told for the tab key to know atoll')
    .addArgument(new Argument('<shell>', 'which').choices(Object.keys(SCRIPTS)))
    .action((shell: string) => void context.stdout.write(SCRIPTS[shell] ?? ''));
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .allowUnknownOption()
    .passThroughOptions()
    .action(async (words: readonly string[]) => {
      const client = await connect({}, context.env).catch(() => undefined);
      const found = await candidates(program, words, client);
      for (const each of found) context.stdout.write(`${each}\n`);
    });
}

import { NotFoundError, Sandbox } from '@atoll/sdk';
import type { Atoll } from '@atoll/sdk';
import type { Command } from 'commander';
import { work } from '../call.ts';
import type { Call } from '../call.ts';
import type { Context } from '../context.ts';
import { outcomeOf } from '../exit-codes.ts';
import type { Output } from '../output/output.ts';

interface Options {
  readonly force?: boolean;
}

export function rmCommand(parent: Command, context: Context): void {
  const command = parent
    .command('rm')
    .description('destroy sandboxes, with all that they hold')
    .argument('<sandbox...>', 'ids or names')
    .option('-f, --force', 'one that is not there is no error');
  work(command, context, rm);
}

export function stopCommand(parent: Command, context: Context): void {
  const command = parent
    .command('stop')
    .description('stop a sandbox, and keep its memory and disk as a snapshot where that can be')
    .argument('<sandbox>', 'its id or name');
  work(command, context, stop, { interrupted: '"atoll ls" shows whether it was stopped' });
}

async function stop({ out, client, signal }: Call<object>, name: string): Promise<void> {
  const sandbox = await Sandbox.get(name, { client, signal });
  const { kept, snapshot_id } = await sandbox.stop({ signal });
  const text = snapshot_id === null ? 'destroyed: it cannot be kept' : snapshot_id;
  out.done({ id: sandbox.id, kept, snapshot_id }, snapshot_id === null ? [] : [snapshot_id], text);
}

async function rm(
  { options, out, client, signal }: Call<Options>,
  names: readonly string[],
): Promise<number> {
  return removeAll(out, names, async (name) => {
    try {
      const sandbox = await Sandbox.get(name, { client, signal });
      await sandbox.stop({ keep: false, signal });
    } catch (error) {
      if (!(options.force === true && error instanceof NotFoundError)) throw error;
    }
  });
}

/** Removes each, and goes on after a failure. Answers the exit code of the first. */
export async function removeAll(
  out: Output,
  ids: readonly string[],
  remove: (id: string) => Promise<void>,
): Promise<number> {
  const removed: string[] = [];
  let exitCode = 0;
  for (const id of ids) {
    try {
      await remove(id);
      removed.push(id);
    } catch (error) {
      const outcome = outcomeOf(error);
      out.failure(outcome);
      exitCode ||= outcome.exitCode;
      if (outcome.exitCode > 128) break;
    }
  }
  if (out.isJson) out.json({ removed });
  else out.lines(removed);
  return exitCode;
}

/** Adds `rm` to a noun: removes any number of its kind. */
export function removal(
  noun: Command,
  context: Context,
  what: string,
  remove: (id: string, options: { readonly client: Atoll; readonly signal: AbortSignal }) => Promise<void>,
): void {
  const command = noun.command('rm').description(`remove ${what}`).argument('<id...>', 'ids');
  work(command, context, ({ out, client, signal }: Call<object>, ids: readonly string[]) =>
    removeAll(out, ids, (id) => remove(id, { client, signal })),
  );
}

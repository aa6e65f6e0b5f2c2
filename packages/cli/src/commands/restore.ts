import { ApiError, Sandbox, Snapshot } from '@atoll/sdk';
import type { Atoll } from '@atoll/sdk';
import type { Command } from 'commander';
import { work } from '../call.ts';
import type { Call } from '../call.ts';
import type { Context } from '../context.ts';
import { outcomeOf } from '../exit-codes.ts';
import { keyValue } from '../values/pairs.ts';
import { whole } from '../values/size.ts';

interface Identity {
  readonly freshIdentity?: boolean;
}
interface ResumeOptions extends Identity {
  readonly forget?: boolean;
}
interface CloneOptions {
  readonly count: number;
  readonly namePrefix?: string;
  readonly tag?: Readonly<Record<string, string>>;
}

const FRESH = ['--fresh-identity', 'give it an address, hostname and machine-id of its own'] as const;
const UNDONE = { interrupted: 'the snapshot stays as it was; "atoll ls" shows what lives' };

export function resumeCommand(parent: Command, context: Context): void {
  const command = parent
    .command('resume')
    .description('go on where a snapshot stopped; the snapshot becomes a checkpoint of the history')
    .argument('<snapshot>', 'its id, or the name it holds')
    .option('--forget', 'delete the snapshot in place of keeping it as a checkpoint')
    .option(...FRESH);
  work(command, context, resume, UNDONE);
}

export function forkCommand(parent: Command, context: Context): void {
  const command = parent
    .command('fork')
    .description('go on where a snapshot stopped, and keep the snapshot; one at a time')
    .argument('<snapshot>', 'its id, or the name it holds')
    .option(...FRESH);
  work(command, context, fork, UNDONE);
}

export function cloneCommand(parent: Command, context: Context): void {
  const command = parent
    .command('clone')
    .description('make many sandboxes of one snapshot, each with an identity of its own')
    .argument('<snapshot>', 'its id, or the name it holds')
    .option('-n, --count <count>', 'how many, 64 at most', (text: string) => whole(text), 1)
    .option('--name-prefix <prefix>', 'names them <prefix>-1, <prefix>-2, …')
    .option('--tag <key=value>', 'a tag for each; any number of them', keyValue);
  work(command, context, clone, UNDONE);
}

export function restoreCommand(parent: Command, context: Context): void {
  const command = parent
    .command('restore')
    .description('go on where a checkpoint of the history stopped, and keep the checkpoint')
    .argument('<checkpoint>', 'its id')
    .option(...FRESH);
  work(command, context, restore, UNDONE);
}

async function resume({ options, out, client, signal }: Call<ResumeOptions>, given: string): Promise<void> {
  const { id } = await Sandbox.resume(await snapshotId(given, client, signal), {
    client,
    signal,
    retain_history: options.forget === true ? false : undefined,
    fresh_identity: options.freshIdentity,
  });
  out.made({ id }, id);
}

async function fork({ options, out, client, signal }: Call<Identity>, given: string): Promise<void> {
  const snapshot = await snapshotId(given, client, signal);
  const { id } = await Sandbox.fork(snapshot, { client, signal, fresh_identity: options.freshIdentity });
  out.made({ id }, id);
}

async function restore({ options, out, client, signal }: Call<Identity>, checkpoint: string): Promise<void> {
  const { id } = await Sandbox.restore(checkpoint, { client, signal, fresh_identity: options.freshIdentity });
  out.made({ id }, id);
}

/** Shows the ids of those that were made, and a line for each that was not. */
async function clone({ options, out, client, signal }: Call<CloneOptions>, given: string): Promise<number> {
  const { count, namePrefix: name_prefix, tag: tags } = options;
  const body = {
    count,
    ...(name_prefix === undefined ? {} : { name_prefix }),
    ...(tags === undefined ? {} : { tags }),
  };
  const made = await Sandbox.clone(await snapshotId(given, client, signal), body, { client, signal });
  const failures = made.filter((each) => each instanceof ApiError);
  const ids = made.filter((each) => each instanceof Sandbox).map(({ id }) => id);
  if (out.isJson)
    out.json({
      sandboxes: made.map((each) =>
        each instanceof Sandbox ? { id: each.id } : { error: each.message, code: each.code },
      ),
    });
  else {
    for (const failure of failures) out.failure(outcomeOf(failure));
    out.lines(ids);
  }
  return failures[0] === undefined ? 0 : outcomeOf(failures[0]).exitCode;
}

/** The id of a snapshot, which may be given by the name that it holds. */
async function snapshotId(given: string, client: Atoll, signal: AbortSignal): Promise<string> {
  const snapshots = await Snapshot.list({ client, signal });
  return snapshots.find(({ name }) => name === given)?.id ?? given;
}

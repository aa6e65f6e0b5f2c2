import { Image, Pool, Sandbox, Snapshot } from '@atoll/sdk';
import type { Atoll } from '@atoll/sdk';
import type { Command } from 'commander';

// A shell waits for it at every press of a key.
const ANSWER_MS = 1000;

/** What a word of the command line can be, for a shell. The last of the words is the one that is being typed. */
export async function candidates(
  program: Command,
  words: readonly string[],
  client: Atoll | undefined,
): Promise<string[]> {
  const typed = words.at(-1) ?? '';
  const { command, values } = reach(program, words.slice(0, -1));
  if (typed.startsWith('-')) return matching(optionsOf(command), typed);
  const nouns = command.commands.filter((each) => !each.name().startsWith('_')).map((each) => each.name());
  if (nouns.length > 0 && command.registeredArguments.length === 0) {
    const names = values === 0 ? await namesFor(command, 0, client) : [];
    return matching([...nouns, ...names], typed);
  }
  return matching(await namesFor(command, values, client), typed);
}

/** The command that words lead to, and how many values of it there are already. */
function reach(program: Command, words: readonly string[]): { command: Command; values: number } {
  let command = program;
  let values = 0;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? '';
    const option = command.options.find(({ long, short }) => word === long || word === short);
    if (option !== undefined) {
      if (option.required) at++;
      continue;
    }
    const below = values === 0 ? command.commands.find((each) => each.name() === word) : undefined;
    if (below !== undefined) command = below;
    else if (!word.startsWith('-')) values++;
  }
  return { command, values };
}

function optionsOf(command: Command): string[] {
  return [...command.options.flatMap(({ long }) => long ?? []), '--help'];
}

/** Names and ids that an argument takes. */
async function namesFor(command: Command, index: number, client: Atoll | undefined): Promise<string[]> {
  const argument = command.registeredArguments[Math.min(index, command.registeredArguments.length - 1)];
  const isPast = index >= command.registeredArguments.length && argument?.variadic !== true;
  if (client === undefined) return [];
  const kind = argument === undefined || isPast ? undefined : argument.name();
  const options = { client, timeoutMs: ANSWER_MS };
  try {
    if (kind === 'sandbox' || (command.name() === 'snapshot' && index === 0))
      return (await Sandbox.list(options)).map(({ name, id }) => name ?? id);
    if (command.name() === 'cp') return (await Sandbox.list(options)).map(({ name, id }) => `${name ?? id}:`);
    if (kind === 'snapshot') return (await Snapshot.list(options)).map(({ name, id }) => name ?? id);
    if (kind === 'id' && command.parent?.name() === 'image')
      return (await Image.list(options)).map(({ id }) => id);
    if (kind === 'id' && command.parent?.name() === 'pool')
      return (await Pool.list(options)).map(({ id }) => id);
  } catch {
    // A key that is pressed is no place to tell of a failure.
  }
  return [];
}

function matching(all: readonly string[], typed: string): string[] {
  return [...new Set(all)].filter((each) => each.startsWith(typed)).sort();
}

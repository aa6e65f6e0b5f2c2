import { Sandbox } from '@atoll/sdk';
import type { ProcessInfo } from '@atoll/sdk';
import type { Command } from 'commander';
import { work } from '../call.ts';
import type { Call } from '../call.ts';
import type { Context } from '../context.ts';
import type { Interrupted } from '../interrupts.ts';
import type { Column } from '../output/table.ts';
import { age } from '../output/text.ts';
import { writeAll } from '../output/write-all.ts';

const COLUMNS: readonly Column<ProcessInfo>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'AGE', of: ({ started_at_unix }) => age(started_at_unix), rank: 2 },
  {
    title: 'STATE',
    of: ({ exit_code }) => (exit_code === null ? 'runs' : `ended with ${exit_code}`),
    rank: 3,
  },
  { title: 'COMMAND', of: ({ command, args }) => [command, ...args].join(' '), isElastic: true },
];

export function logsCommand(parent: Command, context: Context): void {
  const command = parent
    .command('logs')
    .description('what a program in the background writes, until it ends; without an id, the programs')
    .argument('<sandbox>', 'its id or name')
    .argument('[program]', 'the id that "atoll exec --detach" showed');
  work(command, context, logs, { interrupted: 'the program goes on' });
}

export function killCommand(parent: Command, context: Context): void {
  const command = parent
    .command('kill')
    .description('send a signal to a program in the background, and all it started')
    .argument('<sandbox>', 'its id or name')
    .argument('<program>', 'the id that "atoll exec --detach" showed')
    .option('-s, --signal <name>', 'which: TERM, INT, KILL, …', 'TERM');
  work(command, context, kill);
}

async function kill(call: Call<{ readonly signal: string }>, name: string, id: string): Promise<void> {
  const { out, client, signal, options } = call;
  const sandbox = await Sandbox.get(name, { client, signal });
  await sandbox.process(id).kill(options.signal.replace(/^SIG/i, '').toUpperCase(), { signal });
  out.done({ id, signal: options.signal }, [id], id);
}

async function logs(call: Call<object>, name: string, id?: string): Promise<void> {
  const { out, client, signal, context } = call;
  const sandbox = await Sandbox.get(name, { client, signal });
  if (id === undefined) {
    const programs = await sandbox.processes({ signal });
    const items = programs.map(({ id: each, command, args, started_at_unix, exit_code }) => {
      return { id: each, command, args, started_at_unix, exit_code };
    });
    out.list(items, COLUMNS, (each) => each.id);
    return;
  }
  for await (const event of sandbox.process(id).events({ signal })) {
    if (out.isJson) out.lines([JSON.stringify(event.type === 'output' ? outputOf(event.data) : event)]);
    else if (event.type === 'output') await writeAll(context.stdout, event.data);
    else if (event.type === 'skipped') out.note(`atoll: ${event.bytes} bytes are no longer held`);
    else if (event.exit_code !== 0) out.note(`atoll: the program ended with ${event.exit_code}`);
  }
  if (signal.aborted) throw signal.reason as Interrupted;
}

function outputOf(data: Uint8Array): object {
  return { type: 'output', text: new TextDecoder().decode(data) };
}

/**
 * Runs a command in the nested machine (README.md):
 *
 *     node e2e/nested/run.ts -- COMMAND...          boots a machine, runs the command in it, ends it
 *     node e2e/nested/run.ts --keep                 boots a machine and keeps it until it is interrupted
 *     node e2e/nested/run.ts --kept -- COMMAND...   runs the command in the one that is kept
 *
 * Output and exit code are the command's. `--minutes N` is how long all of it may take, `--memory N` is in MiB. `--file PATH`
 * puts a file into /mnt. `--fetch PATH=FILE` copies a file of the machine out when the command has ended, however it did.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { cacheDir } from '../../packages/daemon/src/config.ts';
import { copyCheckout, lastWords, NestedMachine, runIn } from './machine/machine.ts';
import type { Access } from './machine/ssh.ts';

const USAGE =
  'usage: node e2e/nested/run.ts [--minutes N] [--memory N] [--file PATH]... [--fetch PATH=FILE] (--keep | [--kept] -- COMMAND...)';

/** Says where the machine that is kept can be reached. */
const KEPT = join(cacheDir(process.env), 'nested-kept.json');

// What ssh says of itself (ssh(1)).
const CONNECTION_LOST = 255;
// A machine's end is noticed a moment after its connections broke.
const NOTICE_MS = 1000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    keep: { type: 'boolean', default: false },
    kept: { type: 'boolean', default: false },
    minutes: { type: 'string' },
    file: { type: 'string', multiple: true, default: [] },
    fetch: { type: 'string' },
    memory: { type: 'string', default: '6144' },
  },
});
if (values.keep === positionals.length > 0) throw new Error(USAGE);

const minutes = Number(values.minutes ?? (values.keep ? 240 : 30));
const interrupt = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(name, () => interrupt.abort(new Error(name)));
const signal = AbortSignal.any([interrupt.signal, AbortSignal.timeout(minutes * 60_000)]);

if (values.kept) {
  const access = JSON.parse(await readFile(KEPT, 'utf8')) as Access;
  await copyCheckout(access, signal);
  await runCommand(access);
} else {
  await using machine = await boot();
  if (values.keep) await keep(machine);
  else await runCommand(machine.access, machine);
}

async function runCommand(access: Access, machine?: NestedMachine): Promise<void> {
  process.exitCode = await runIn(access, positionals, { signal });
  if (process.exitCode === CONNECTION_LOST) {
    const lost = sleep(NOTICE_MS, 'the connection to the machine is lost');
    const end = await (machine === undefined ? lost : Promise.race([machine.ended, lost]));
    console.error(`${end}; ${await lastWords(access)}`);
  }
  const [from, to] = values.fetch?.split('=') ?? [];
  if (from === undefined || to === undefined) return;
  const chunks: Buffer[] = [];
  const code = await runIn(access, ['cat', from], { signal, onOutput: (chunk) => chunks.push(chunk) });
  if (code !== 0) throw new Error(`${from} is not in the machine`);
  await writeFile(to, Buffer.concat(chunks));
}

async function boot(): Promise<NestedMachine> {
  const start = performance.now();
  const machine = await NestedMachine.boot({ memSizeMib: Number(values.memory), files: values.file }, signal);
  await copyCheckout(machine.access, signal);
  console.error(`the nested machine is up (${Math.round((performance.now() - start) / 1000)} s)`);
  return machine;
}

async function keep(machine: NestedMachine): Promise<void> {
  await writeFile(KEPT, JSON.stringify(machine.access));
  try {
    console.error(
      `kept for ${minutes} minutes, or until it is interrupted: node e2e/nested/run.ts --kept -- COMMAND...`,
    );
    const { promise: over, resolve } = Promise.withResolvers<string>();
    signal.addEventListener('abort', () => resolve('ended'));
    console.error(await Promise.race([machine.ended, over]));
  } finally {
    await rm(KEPT, { force: true });
  }
}

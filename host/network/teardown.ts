/**
 * Takes back what setup.ts made, and nothing else: what was there before it stays, and what it changed is as it was. Files of
 * sandboxes stay. The daemon has to be stopped first.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, chown, readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { unshapeAll } from '../../packages/daemon/src/adapters/network-linux/limits.ts';
import { changeRules } from '../../packages/daemon/src/adapters/network-linux/tools.ts';
import { USER_COMMENT } from './checks.ts';
import { runCommands } from './commands.ts';
import { shellWords } from './finding.ts';
import { readNote, removeNote } from './note.ts';
import type { Note } from './note.ts';
import { readSettings, SIGNAL } from './settings.ts';
import type { HostSettings } from './settings.ts';
import { removeUnits } from './units.ts';

const execute = promisify(execFile);

async function removeRules({ plan }: HostSettings): Promise<void> {
  // A table that is not there cannot be deleted, and one that is can be added.
  const tables = [`bridge ${plan.bridge}`, `inet ${plan.bridge}`];
  await changeRules(tables.map((table) => `add table ${table}\ndelete table ${table}`).join('\n'), SIGNAL);
  await unshapeAll(plan, SIGNAL);
}

async function restore({ links, kernel, devices }: Note): Promise<void> {
  const present = links.filter((name) => existsSync(`/sys/class/net/${name}`));
  // Last made, first removed: the bridge goes after its taps.
  await runCommands(present.toReversed().map((name) => ['ip', 'link', 'delete', 'dev', name]));
  for (const [path, value] of Object.entries(kernel))
    if (existsSync(`/proc/sys/${path}`)) await writeFile(`/proc/sys/${path}`, value);
  for (const [path, { mode, gid }] of Object.entries(devices)) {
    if (!existsSync(path)) continue;
    await chown(path, 0, gid);
    await chmod(path, mode);
  }
}

async function removeUser({ user }: HostSettings): Promise<void> {
  const accounts = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  if (accounts.some(([name, , , , comment]) => name === user && comment === USER_COMMENT))
    await execute('userdel', [user]);
}

async function main(): Promise<void> {
  const settings = await readSettings(process.env);
  if (process.getuid?.() !== 0) throw new Error(`takes root: sudo ${shellWords(process.argv)}`);
  await removeUnits();
  const note = await readNote(settings);
  if (note === undefined) {
    console.log(`Nothing is noted of a set-up of ${settings.plan.bridge} since the host came up.`);
  } else {
    await removeRules(settings);
    await restore(note);
  }
  await removeUser(settings);
  await removeNote(settings);
  console.log(`The host's network is as it was before the set-up.`);
}

main().catch((error: unknown) => {
  process.stderr.write(`teardown: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});

/**
 * Makes what the daemon cannot make without root: its user, the bridge, the taps, forwarding, access to devices, what
 * jails need where they are asked for, and the systemd units where systemd runs. Does what is missing and nothing else. To be run again after a reboot, which the unit
 * atoll-network does. All else of the network is the running daemon's: the rules and the name server.
 */
import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { kernelSettings } from '../../packages/daemon/src/adapters/network-linux/host.ts';
import { checkNetwork, checkTools, checkUser } from './checks.ts';
import { runCommands } from './commands.ts';
import { checkDevices, DEVICES } from './devices.ts';
import { shellWords } from './finding.ts';
import type { Finding } from './finding.ts';
import { checkJail } from './jail.ts';
import { addNote } from './note.ts';
import { readSettings } from './settings.ts';
import type { HostSettings } from './settings.ts';
import { installUnits } from './units.ts';

// A setting of the bridge can only be seen once there is a bridge.
const ROUNDS = 3;

async function noteWhatIs({ plan, uplink, ...settings }: HostSettings): Promise<void> {
  const names = [plan.bridge, ...plan.taps];
  const paths = kernelSettings(plan.bridge, uplink)
    .map(({ path }) => path)
    .filter((path) => existsSync(`/proc/sys/${path}`));
  const devices = Object.values(DEVICES).filter((path) => existsSync(path));
  await addNote(
    { plan, uplink, ...settings },
    {
      links: names.filter((name) => !existsSync(`/sys/class/net/${name}`)),
      kernel: Object.fromEntries(
        await pairs(paths, async (path) => (await readFile(`/proc/sys/${path}`, 'utf8')).trim()),
      ),
      devices: Object.fromEntries(
        await pairs(devices, async (path) => {
          const { mode, gid } = await stat(path);
          return { mode: mode & 0o7777, gid };
        }),
      ),
    },
  );
}

function pairs<T>(keys: readonly string[], valueOf: (key: string) => Promise<T>): Promise<[string, T][]> {
  return Promise.all(keys.map(async (key): Promise<[string, T]> => [key, await valueOf(key)]));
}

/** Runs what mends the faults that a check finds, until it finds none. */
async function mend(check: () => Promise<Finding[]> | Finding[]): Promise<void> {
  for (let round = 1; ; round += 1) {
    const faults = (await check()).filter((found) => !found.ok && found.mend.length > 0);
    if (faults.length === 0) return;
    const commands = faults.flatMap((found) => (found.ok ? [] : found.mend));
    if (round > ROUNDS) throw new Error(`this does not help: ${commands.map(shellWords).join(' && ')}`);
    await runCommands(commands);
    for (const found of faults.slice(0, 5)) console.log(`mended  ${found.subject}: ${found.text}`);
    if (faults.length > 5) console.log(`mended  and ${faults.length - 5} more`);
  }
}

async function main(): Promise<void> {
  const settings = await readSettings(process.env);
  if (process.getuid?.() !== 0) throw new Error(`takes root: sudo ${shellWords(process.argv)}`);
  const missing = checkTools().filter((found) => !found.ok);
  if (missing.length > 0)
    throw new Error(`${missing.map(({ subject }) => subject).join(', ')}: not installed`);
  await mend(() => checkUser(settings));
  await noteWhatIs(settings);
  await mend(() => checkDevices(settings));
  await mend(() => checkNetwork(settings));
  await mend(() => checkJail(settings));
  await installUnits(settings);
  console.log(`The host's network is set up: ${settings.plan.taps.length} taps on ${settings.plan.bridge}.`);
}

main().catch((error: unknown) => {
  process.stderr.write(`setup: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});

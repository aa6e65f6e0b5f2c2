import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { HostSettings } from './settings.ts';

const execute = promisify(execFile);

const UNITS = ['atoll-network.service', 'atoll.service'] as const;
const UNIT_DIR = '/etc/systemd/system';
// What a unit needs more where machines are jailed.
const JAIL = { file: 'atoll-jail.conf', dir: join(UNIT_DIR, 'atoll.service.d') } as const;
// The first line of each unit here: the tear-down removes a file that begins with it, and no other.
const MARK = '# Made by the set-up of Atoll';

/** systemd is there and runs the host; in a container it is often only there. */
export const isSystemdHost = () => existsSync('/run/systemd/system');

/** Installs the units, filled in for this checkout, and lets the network's come up at every boot. */
export async function installUnits({ root, user, jailed }: HostSettings): Promise<void> {
  if (!isSystemdHost()) return;
  for (const unit of UNITS) {
    const template = await readFile(join(import.meta.dirname, unit), 'utf8');
    const text = template
      .replaceAll('@ROOT@', root)
      .replaceAll('@NODE@', process.execPath)
      .replaceAll('@USER@', user);
    await writeFile(join(UNIT_DIR, unit), `${MARK}\n${text}`);
  }
  await (jailed ? installJail() : removeJail());
  await execute('systemctl', ['daemon-reload']);
  await execute('systemctl', ['enable', 'atoll-network.service']);
}

async function installJail(): Promise<void> {
  const text = await readFile(join(import.meta.dirname, JAIL.file), 'utf8');
  await mkdir(JAIL.dir, { recursive: true });
  await writeFile(join(JAIL.dir, JAIL.file), `${MARK}\n${text}`);
}

async function removeJail(): Promise<void> {
  await rm(join(JAIL.dir, JAIL.file), { force: true });
}

export async function removeUnits(): Promise<void> {
  const made: string[] = [];
  for (const unit of UNITS) {
    const path = join(UNIT_DIR, unit);
    if (existsSync(path) && (await readFile(path, 'utf8')).startsWith(MARK)) made.push(path);
  }
  if (made.length === 0) return;
  if (isSystemdHost())
    await execute('systemctl', ['disable', '--now', 'atoll.service', 'atoll-network.service']);
  for (const path of made) await rm(path);
  await removeJail();
  if (isSystemdHost()) await execute('systemctl', ['daemon-reload']);
}

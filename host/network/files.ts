import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { closedDirectory, findAccount, permits, READ } from './accounts.ts';
import { fault, sound } from './finding.ts';
import type { Finding } from './finding.ts';
import type { HostSettings } from './settings.ts';
import { isSystemdHost } from './units.ts';

const MIB = 1024 * 1024;
// The daemon refuses a sandbox below 256 MiB; four of them are the least that is worth the name of a service.
const MIN_FREE_MIB = 1024;

/** The daemon's own code, and what a guest boots from, each for the daemon's user to read. */
export async function checkFiles({ user, root, guestFiles }: HostSettings): Promise<Finding[]> {
  const account = await findAccount(user);
  const files = [join(root, 'packages/daemon/dist/main.js'), process.execPath, ...guestFiles];
  return Promise.all(
    files.map(async (path): Promise<Finding> => {
      if (!existsSync(path)) return fault(path, 'is missing', ['bash', join(root, 'host/setup.sh')]);
      if (account === undefined) return sound(path, 'is there');
      const closed = await closedDirectory(path, account);
      // A daemon that root starts makes itself a way to it. The unit's is never root.
      if (closed !== undefined && !isSystemdHost()) return sound(path, `seen by ${user} below /run/atoll`);
      if (closed !== undefined)
        return fault(path, `${user} may not enter ${closed}`, ['chmod', 'o+x', closed]);
      if (await permits(path, account, READ)) return sound(path, `open to ${user}`);
      return fault(path, `may not be read by ${user}`, ['chmod', 'o+r', path]);
    }),
  );
}

export async function checkDisk({ stateDir }: HostSettings): Promise<Finding[]> {
  let place = stateDir;
  while (!existsSync(place)) place = dirname(place);
  const { bavail, bsize } = await statfs(place);
  const freeMib = Math.floor((bavail * bsize) / MIB);
  if (freeMib >= MIN_FREE_MIB) return [sound('disk space', `${freeMib} MiB under ${stateDir}`)];
  const advice = 'free some, or set SERVICE_STATE_DIR to a directory on a larger disk';
  const text = `${freeMib} MiB are free under ${stateDir}, and ${MIN_FREE_MIB} are needed`;
  return [{ ...fault('disk space', text), advice }];
}

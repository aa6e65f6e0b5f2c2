import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cgroupMount, CONTROLLERS } from './lib/cgroup.ts';

// What the owner of a delegated cgroup writes to (the kernel's admin-guide/cgroup-v2.rst, Delegation).
const DELEGATED = ['.', 'cgroup.procs', 'cgroup.threads', 'cgroup.subtree_control'];

/**
 * Makes a cgroup that a user may divide, as `Delegate=yes` of a systemd unit does, and moves this process into it. To be called by root.
 * Without a name it follows from the state directory, which no two daemons share. Undefined where this host has no cgroup v2 to divide.
 */
export async function delegateCgroup(
  named: string | undefined,
  stateDir: string,
  { uid, gid }: { readonly uid: number; readonly gid: number },
): Promise<string | undefined> {
  const mount = await cgroupMount();
  if (mount === undefined) return undefined;
  const mark = createHash('sha256').update(stateDir).digest('hex').slice(0, 12);
  const path = named ?? join(mount, `atoll-${mark}`);
  try {
    // Not with those above it: they would be of nobody's making.
    if (!existsSync(path)) await mkdir(path);
    const enabled = CONTROLLERS.map((name) => `+${name}`).join(' ');
    if (named === undefined) await writeFile(join(mount, 'cgroup.subtree_control'), enabled, { flag: 'r+' });
    // A cgroup that was divided before takes processes in its leaves alone.
    const own = join(path, 'daemon');
    if (!existsSync(own)) await mkdir(own);
    for (const dir of [path, own]) for (const name of DELEGATED) await chown(join(dir, name), uid, gid);
    await writeFile(join(own, 'cgroup.procs'), String(process.pid), { flag: 'r+' });
    return path;
  } catch {
    return undefined;
  }
}

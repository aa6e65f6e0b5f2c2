import { access, constants, mkdir, readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CONTROLLERS } from '../../../lib/cgroup.ts';

const PREFIX = 'vm-';
const DAEMON = 'daemon';

// Above each machine's, whose weight is 100 for each of its processors.
const DAEMON_WEIGHT = '1000';

// A killed process is gone within milliseconds; one in an uninterruptible wait may take longer.
const GONE_WITHIN_MS = 10_000;
const POLL_MS = 10;

/** What keeps a cgroup from being divided among machines by this process, a line each; none when nothing does. */
export async function cgroupFaults(root: string): Promise<string[]> {
  const controllers = await readFile(join(root, 'cgroup.controllers'), 'utf8').catch(() => undefined);
  if (controllers === undefined) return [`${root} is no cgroup of version 2`];
  const missing = CONTROLLERS.filter((name) => !controllers.trim().split(' ').includes(name));
  const faults = missing.length === 0 ? [] : [`${root} lacks the controllers ${missing.join(', ')}`];
  const files = ['.', 'cgroup.procs', 'cgroup.subtree_control'].map((name) => join(root, name));
  const writable = await Promise.all(files.map((file) => access(file, constants.W_OK).then(yes, no)));
  return writable.every(Boolean) ? faults : [...faults, `${root} is not delegated to this user`];
}

const yes = () => true;
const no = () => false;

/** The numbers, as io.max takes them, of the whole disk under a path; undefined when there is none, as under a tmpfs. */
export async function diskOf(path: string): Promise<string | undefined> {
  const { dev } = await stat(path);
  const device = `${(dev >> 8) & 0xfff}:${(dev & 0xff) | ((dev >> 12) & 0xfff00)}`;
  const place = `/sys/dev/block/${device}`;
  const read = (file: string) => readFile(join(place, file), 'utf8').catch(() => undefined);
  if ((await read('dev')) === undefined) return undefined;
  // Only a partition has a number of its own among those of its disk.
  if ((await read('partition')) === undefined) return device;
  return (await read('../dev'))?.trim();
}

/** A cgroup that was delegated to the daemon: itself in one leaf, each machine in another, named from its sandbox's id. */
export class CgroupTree {
  readonly root: string;

  private constructor(root: string) {
    this.root = root;
  }

  /** Moves this process into its leaf and lets the controllers reach the machines'. */
  static async open(root: string): Promise<CgroupTree> {
    const own = join(root, DAEMON);
    await mkdir(own, { recursive: true });
    await writeFile(join(own, 'cgroup.procs'), String(process.pid), { flag: 'r+' });
    const enabled = CONTROLLERS.map((name) => `+${name}`).join(' ');
    await writeFile(join(root, 'cgroup.subtree_control'), enabled, { flag: 'r+' });
    await writeFile(join(own, 'cpu.weight'), DAEMON_WEIGHT, { flag: 'r+' });
    return new CgroupTree(root);
  }

  /** Makes a machine's cgroup, with these limits. */
  async create(id: string, limits: Readonly<Record<string, string>>): Promise<string> {
    const path = this.#path(id);
    await mkdir(path);
    try {
      for (const [file, value] of Object.entries(limits)) await writeLimit(join(path, file), value);
      return path;
    } catch (error) {
      await rmdir(path);
      throw error;
    }
  }

  /** Ends what runs in a machine's cgroup and removes it. Harmless when it is gone. */
  async remove(id: string): Promise<void> {
    await end(this.#path(id));
  }

  /** Ends every machine there is, and answers their ids. */
  async sweep(): Promise<string[]> {
    const names = (await readdir(this.root)).filter((name) => name.startsWith(PREFIX));
    await Promise.all(names.map((name) => end(join(this.root, name))));
    return names.map((name) => name.slice(PREFIX.length));
  }

  #path(id: string): string {
    return join(this.root, PREFIX + id);
  }
}

async function writeLimit(path: string, value: string): Promise<void> {
  try {
    await writeFile(path, value, { flag: 'r+' });
  } catch (error) {
    // A kernel without swap accounting has no such file, and nothing to limit.
    if (basename(path) === 'memory.swap.max' && (error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw new Error(`${basename(path)} of ${basename(dirname(path))} does not take ${value}`, {
      cause: error,
    });
  }
}

async function end(path: string): Promise<void> {
  const until = performance.now() + GONE_WITHIN_MS;
  for (;;) {
    try {
      await rmdir(path);
      return;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return;
      if (code !== 'EBUSY' || performance.now() > until) throw error;
    }
    await writeFile(join(path, 'cgroup.kill'), '1', { flag: 'r+' }).catch(() => undefined);
    await sleep(POLL_MS);
  }
}

import { createHash } from 'node:crypto';
import { chown, lstat, mkdir, readdir, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { env as environment, execPath } from 'node:process';
import type { Config } from './config.ts';
import { delegateCgroup } from './delegation.ts';
import { run } from './lib/run.ts';

// Where the daemon sees what lies in directories that its user may not enter.
const SEEN_DIR = join(environment.ATOLL_RUN_DIR ?? '/run/atoll', 'seen-by-daemon');

// linux/capability.h
const CAP_NET_ADMIN = 12n;

const COMMAND_MS = 10_000;

// What start scripts put into the state directory before there is a daemon.
const START_FILES = /^(\.|daemon\.)/;
// What a state directory has had since its first daemon.
const STATE_MARK = 'machines';
// What a directory of snapshots has had since then.
const SNAPSHOTS_MARK = 'held';
// All that is in a directory of images or drives.
const IMAGE_FILES = /\.ext4(\.part)?$/;

// Which of root's capabilities are left to it and to what it starts.
const ONE_CAPABILITY = ['inh-caps', 'ambient-caps'].map((set) => `--${set}=-all,+net_admin`);

// Nothing that it starts gains another.
const GAINS_NOTHING = ['--bounding-set=-all,+net_admin', '--no-new-privs'];

// newuidmap, which belongs to root, may: it lets a jail have the subordinate ids of the daemon's user (adapters/vmm-qemu/jail). The daemon
// itself holds no more than without jails.
const GAINS_FOR_JAILS = ['--bounding-set=-all,+net_admin,+setuid,+setgid,+dac_override,+sys_admin'];

// Each pair of its leading arguments, up to a lone dash, is mounted; then it becomes the rest.
const MOUNT_AND_BECOME =
  'while [ "$1" != - ]; do mount --bind "$1" "$2" || exit; shift 2; done; shift; exec "$@"';

// The room for young objects in MiB, 16 by default: what lies in it stays in memory until it is full. The systemd unit says the same.
const SMALL_HEAP = '--max-semi-space-size=2';

export interface User {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/**
 * Makes sure that the daemon holds one capability, CAP_NET_ADMIN, and is not root. Started as root, it becomes this same
 * program again as SERVICE_USER: same process, same output. What that user cannot reach (a checkout or a state directory in
 * root's home) it sees below /run/atoll, bind-mounted in a mount namespace of the daemon's own. Rejects with the reason when
 * that cannot be done, and when a user other than root starts the daemon without that capability.
 */
export async function dropRoot(config: Config): Promise<void> {
  if (process.getuid?.() !== 0) return assertNetAdmin();
  const user = await findUser(config.user);
  await handOver('SERVICE_STATE_DIR', config.stateDir, user, (names) => names.includes(STATE_MARK));
  const apart = dataDirs(config).filter(({ dir }) => !dir.startsWith(config.stateDir + sep));
  for (const { variable, dir, isOurs } of apart) await handOver(variable, dir, user, isOurs);
  const [kernel, rootfs, initramfs, netlink] = await Promise.all([
    realpath(config.kernelPath),
    realpath(config.baseRootfs),
    realpath(config.initramfsPath),
    realpath(config.netlinkPath),
  ]);
  // The program that was started: another one in a test.
  const main = await realpath(process.argv[1] ?? '');
  const command = [execPath, ...process.execArgv, main, ...process.argv.slice(2)];
  const paths = [config.stateDir, ...apart.map(({ dir }) => dir), kernel, rootfs, initramfs, netlink];
  const { argv, seen } = await confine(user, command, paths, config.jailer.enabled);
  // Spelt out, since their defaults are other ones for another user.
  const env = {
    ...environment,
    SERVICE_STATE_DIR: seen(config.stateDir),
    ...Object.fromEntries(dataDirs(config).map(({ variable, dir }) => [variable, seen(dir)])),
    SERVICE_KERNEL_PATH: seen(kernel),
    SERVICE_BASE_ROOTFS: seen(rootfs),
    SERVICE_INITRAMFS_PATH: seen(initramfs),
    SERVICE_NETLINK_PATH: seen(netlink),
    ...(await delegation(config, user)),
    NODE_OPTIONS: [environment.NODE_OPTIONS, SMALL_HEAP].filter(Boolean).join(' '),
  };
  become(argv, env);
}

/** Replaces this process by a command: same process id, same input and output. */
export function become(argv: readonly string[], env: NodeJS.ProcessEnv): never {
  // execve(2) looks nothing up in PATH: env does.
  process.execve?.('/usr/bin/env', ['env', '--', ...argv], env);
  throw new Error('this Node has no process.execve: the daemon takes Node 24');
}

/**
 * Makes of a command one that runs as a user with CAP_NET_ADMIN and no other capability, and that sees this checkout, this Node
 * and the given paths (absolute, without links) wherever they lie. To be run by root. Words of the command that are such a path,
 * or below one, are rewritten to where it is seen; `seen` tells of other words. `makesJails`: it may run newuidmap.
 */
export async function confine(
  user: User,
  command: readonly string[],
  paths: readonly string[],
  makesJails = false,
) {
  const checkout = await realpath(join(import.meta.dirname, '../../..'));
  const closed = await closedTo(user, [checkout, execPath, ...paths]);
  const mounts = await Promise.all(closed.map(mountFor));
  const seen = (path: string) => seenAs(path, mounts);
  const asUser = [
    'setpriv',
    ...identity(user),
    ...ONE_CAPABILITY,
    ...(makesJails ? GAINS_FOR_JAILS : GAINS_NOTHING),
    '--',
    ...command.map(seen),
  ];
  if (mounts.length === 0) return { argv: asUser, seen };
  const pairs = mounts.flatMap((mount) => [mount.path, mount.seenAs]);
  const mounting = ['unshare', '--mount', '--propagation', 'slave', 'sh', '-c', MOUNT_AND_BECOME, 'sh'];
  return { argv: [...mounting, ...pairs, '-', ...asUser], seen };
}

/** The variable that names a cgroup of the user's, for jails. Where none can be made the daemon's own check says why. */
async function delegation({ jailer, stateDir }: Config, user: User): Promise<Record<string, string>> {
  if (!jailer.enabled) return {};
  const cgroup = await delegateCgroup(jailer.cgroup, stateDir, user);
  return cgroup === undefined ? {} : { SERVICE_JAILER_CGROUP: cgroup };
}

async function assertNetAdmin(): Promise<void> {
  const status = await readFile('/proc/self/status', 'utf8');
  const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`);
  if ((effective >> CAP_NET_ADMIN) & 1n) return;
  throw new Error(
    'takes the capability CAP_NET_ADMIN: start the daemon as root, and it becomes the user of SERVICE_USER and keeps that one capability, or by the systemd unit, which does the same',
  );
}

/** Rejects when the host has no such user. */
export async function findUser(name: string): Promise<User> {
  // `id` fails for one reason alone, and says it in two lines.
  const ask = (what: string) => run('id', [what, name], timeout()).catch(() => undefined);
  const [uid, gid] = await Promise.all([ask('-u'), ask('-g')]);
  if (uid !== undefined && gid !== undefined) return { name, uid: Number(uid), gid: Number(gid) };
  throw new Error(
    `the daemon does not run as root, and the user ${name}, which it would become, is missing (npm run host:setup makes it; SERVICE_USER names another)`,
  );
}

interface DataDir {
  readonly variable: string;
  readonly dir: string;
  /** Whether a directory with these names in it has been the daemon's before. */
  readonly isOurs: (names: readonly string[]) => boolean;
}

/** Directories that may lie outside of the state directory. */
function dataDirs({ imagesDir, drivesDir, snapshotsDir, archiveDir }: Config): DataDir[] {
  const holdsImages: DataDir['isOurs'] = (names) => names.every((name) => IMAGE_FILES.test(name));
  return [
    { variable: 'SERVICE_IMAGES_DIR', dir: imagesDir, isOurs: holdsImages },
    { variable: 'SERVICE_DRIVES_DIR', dir: drivesDir, isOurs: holdsImages },
    { variable: 'SERVICE_ARCHIVE_DIR', dir: archiveDir, isOurs: (names) => names.every(isSnapshotId) },
    {
      variable: 'SERVICE_SNAPSHOTS_DIR',
      dir: snapshotsDir,
      isOurs: (names) => names.includes(SNAPSHOTS_MARK),
    },
  ];
}

function isSnapshotId(name: string): boolean {
  return /^[0-9a-f-]{36}(\.part)?$/.test(name);
}

/** Gives a directory to the user, made if missing. One that root uses for other things as well is left alone. */
async function handOver(
  variable: string,
  dir: string,
  { name, uid, gid }: User,
  isOurs: DataDir['isOurs'],
): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const { uid: owner } = await lstat(dir);
  if (owner === uid) return;
  const content = (await readdir(dir)).filter((entry) => !START_FILES.test(entry));
  if (owner !== 0 || (content.length > 0 && !isOurs(content)))
    throw new Error(
      `${variable}=${dir}: belongs to another user than ${name} and holds other things; choose an empty directory`,
    );
  if (content.length > 0) await run('chown', ['-R', '-h', `${uid}:${gid}`, dir], timeout());
  else await chown(dir, uid, gid);
}

/** Those of the paths that a user can neither read nor, if they are directories, enter. */
async function closedTo(user: User, paths: readonly string[]): Promise<string[]> {
  const closed: string[] = [];
  for (const path of paths) {
    const isKnown = closed.some((dir) => path.startsWith(dir + sep));
    if (!isKnown && !(await isOpenTo(user, path))) closed.push(path);
  }
  return closed;
}

async function isOpenTo(user: User, path: string): Promise<boolean> {
  const test = (await stat(path)).isDirectory() ? '-x' : '-r';
  return run('setpriv', [...identity(user), '--', 'test', test, path], timeout()).then(
    () => true,
    () => false,
  );
}

interface Mount {
  readonly path: string;
  readonly seenAs: string;
}

/** The place that a path is mounted on, made if missing. The same path has the same place at every start: disks name it. */
async function mountFor(path: string): Promise<Mount> {
  const place = join(SEEN_DIR, createHash('sha256').update(path).digest('hex').slice(0, 16));
  await mkdir(SEEN_DIR, { recursive: true, mode: 0o755 });
  if ((await stat(path)).isDirectory()) await mkdir(place, { recursive: true });
  else await writeFile(place, '', { flag: 'a' });
  return { path, seenAs: place };
}

function seenAs(path: string, mounts: readonly Mount[]): string {
  const mount = mounts.find((one) => path === one.path || path.startsWith(one.path + sep));
  return mount === undefined ? path : mount.seenAs + path.slice(mount.path.length);
}

function identity({ uid, gid }: User): string[] {
  return ['--reuid', String(uid), '--regid', String(gid), '--init-groups'];
}

function timeout(): AbortSignal {
  return AbortSignal.timeout(COMMAND_MS);
}

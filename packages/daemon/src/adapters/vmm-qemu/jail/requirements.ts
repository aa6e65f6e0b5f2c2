import { readFile, stat } from 'node:fs/promises';
import { cgroupMount, ownCgroup } from '../../../lib/cgroup.ts';
import { cgroupFaults } from './cgroups.ts';
import { findProgram } from './programs.ts';
import { largestRange, mayMap, readIds } from './subids.ts';
import type { IdRange } from './subids.ts';

/** What a jail is made with, and Debian's package of it. */
export const JAIL_PROGRAMS = {
  newuidmap: 'uidmap',
  newgidmap: 'uidmap',
  bwrap: 'bubblewrap',
  perl: 'perl-base',
  prlimit: 'util-linux',
  setpriv: 'util-linux',
} as const;

export const KVM_DEVICE = '/dev/kvm';

// linux/capability.h. newuidmap runs as root and needs these of what root may: to map, and to write into another process's map.
const NEEDED_BY_NEWUIDMAP = { CAP_DAC_OVERRIDE: 1, CAP_SETGID: 6, CAP_SETUID: 7, CAP_SYS_ADMIN: 21 } as const;

export interface JailUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

export interface Wanted {
  readonly user: JailUser;
  /** How many machines live at a time, each with ids of its own. */
  readonly machines: number;
  readonly usesKvm: boolean;
  /** The cgroup of SERVICE_JAILER_CGROUP, if that is set. */
  readonly cgroup: string | undefined;
  /** What every machine reads, by the variable that names it. */
  readonly files: Readonly<Record<string, string>>;
}

/** What there is for jails. */
export interface Provided {
  readonly cgroup: string;
  readonly uids: IdRange;
  readonly gids: IdRange;
  readonly kvmGid: number | undefined;
}

/** What this host lacks for jails, each with what mends it; none of it when `provided` is there. */
export interface Findings {
  readonly faults: readonly string[];
  readonly provided: Provided | undefined;
}

/** Looks at everything, so that all that is missing is told at once. */
export async function examineHost(wanted: Wanted): Promise<Findings> {
  const kvmGid = wanted.usesKvm ? await groupOfKvm() : undefined;
  const cgroup = wanted.cgroup ?? (await ownCgroup());
  const [subuid, subgid] = await Promise.all(['/etc/subuid', '/etc/subgid'].map(readIds));
  const { name, uid } = wanted.user;
  const [uids, gids] = [largestRange(subuid ?? '', name, uid), largestRange(subgid ?? '', name, uid)];
  const faults = [
    ...programFaults(),
    ...rangeFaults('/etc/subuid', '--add-subuids', uids, wanted),
    ...rangeFaults('/etc/subgid', '--add-subgids', gids, wanted),
    ...kvmFaults(kvmGid, subgid ?? '', wanted.user),
    ...(await treeFaults(cgroup)),
    ...(await privilegeFaults()),
    ...(await namespaceFaults()),
    ...(await fileFaults(wanted.files)),
  ];
  const isAll = faults.length === 0 && cgroup !== undefined && uids !== undefined && gids !== undefined;
  return { faults, provided: isAll ? { cgroup, uids, gids, kvmGid } : undefined };
}

function programFaults(): string[] {
  return Object.entries(JAIL_PROGRAMS)
    .filter(([program]) => findProgram(program) === undefined)
    .map(([program, name]) => `${program} is missing: apt-get install ${name}`);
}

function rangeFaults(
  file: string,
  option: string,
  range: IdRange | undefined,
  { user, machines }: Wanted,
): string[] {
  if (range !== undefined && range.count >= machines) return [];
  return [
    `${file} has no ${machines} consecutive ids of ${user.name}, one for each sandbox (SERVICE_TAP_POOL_SIZE): usermod ${option} FIRST-LAST ${user.name}, or npm run host:setup`,
  ];
}

/** The group that a monitor has to be in to open KVM; undefined where everybody may. */
async function groupOfKvm(): Promise<number | undefined> {
  const { mode, gid } = await stat(KVM_DEVICE);
  return (mode & 0o006) === 0o006 ? undefined : gid;
}

function kvmFaults(kvmGid: number | undefined, subgid: string, { name, uid, gid }: JailUser): string[] {
  if (kvmGid === undefined || kvmGid === gid || mayMap(subgid, name, uid, kvmGid)) return [];
  return [
    `/etc/subgid does not let ${name} hand on group ${kvmGid}, which ${KVM_DEVICE} is for: usermod --add-subgids ${kvmGid}-${kvmGid} ${name}, or npm run host:setup`,
  ];
}

async function treeFaults(cgroup: string | undefined): Promise<string[]> {
  if (cgroup === undefined || (await cgroupMount()) === undefined)
    return ['this host has no cgroup v2: boot it with systemd.unified_cgroup_hierarchy=1'];
  const mend =
    'start the daemon by the systemd unit, which delegates it (npm run host:setup), or as root, or name one that is delegated with SERVICE_JAILER_CGROUP';
  return (await cgroupFaults(cgroup)).map((fault) => `${fault}: ${mend}`);
}

async function privilegeFaults(): Promise<string[]> {
  const status = await readFile('/proc/self/status', 'utf8');
  const field = (name: string) => new RegExp(`^${name}:\\s*(\\S+)$`, 'm').exec(status)?.[1] ?? '0';
  const bounding = BigInt(`0x${field('CapBnd')}`);
  const needed = Object.entries(NEEDED_BY_NEWUIDMAP);
  const lacking = needed.filter(([, bit]) => ((bounding >> BigInt(bit)) & 1n) === 0n).map(([name]) => name);
  return [
    ...(field('NoNewPrivs') === '0'
      ? []
      : ['newuidmap can gain nothing, since this process has no-new-privileges on: NoNewPrivileges=no']),
    ...(lacking.length === 0
      ? []
      : [
          `newuidmap can gain too little: the bounding set lacks ${lacking.join(', ')} (CapabilityBoundingSet= of the unit)`,
        ]),
  ];
}

/** Switches that distributions have for user namespaces. Those that a kernel has not are not looked at. */
async function namespaceFaults(): Promise<string[]> {
  const off = [
    ['user/max_user_namespaces', '0', '10000'],
    ['kernel/unprivileged_userns_clone', '0', '1'],
    ['kernel/apparmor_restrict_unprivileged_userns', '1', '0'],
  ] as const;
  const values = await Promise.all(
    off.map(([path]) => readFile(`/proc/sys/${path}`, 'utf8').catch(() => '')),
  );
  return off
    .filter(([, closed], at) => values[at]?.trim() === closed)
    .map(([path, , open]) => `user namespaces are off: sysctl ${path.replace('/', '.')}=${open}`);
}

async function fileFaults(files: Wanted['files']): Promise<string[]> {
  const modes = await Promise.all(
    Object.entries(files).map(async ([name, path]) => ({ name, path, mode: (await stat(path)).mode })),
  );
  return modes
    .filter(({ mode }) => (mode & 0o004) === 0)
    .map(
      ({ name, path }) =>
        `${name}=${path} is closed to the machines' own users: chmod o+r ${path} (the directories above it may stay closed)`,
    );
}

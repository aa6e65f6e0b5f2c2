import { dirname, join } from 'node:path';

/** Descriptors that a jailed monitor finds open. 3 is one end of a socket pair, whose other end the daemon has. */
export const FD = { state: 3, tap: 4, agent: 5, qmp: 6, filter: 7 } as const;

/** Ids inside a jail's user namespace. The daemon's user is its root, which has nothing but what that user has outside. */
const INSIDE = { daemon: 0, monitor: 1, kvm: 2 } as const;

const LAUNCHER = join(import.meta.dirname, 'launch.pl');

/** A file or directory that the monitor sees by the path it has outside. */
export interface Binding {
  readonly path: string;
  readonly access: 'read' | 'write' | 'device';
}

/** One machine's jail. Paths are absolute. */
export interface JailPlan {
  /** The daemon's own user and group, and those of this machine alone. */
  readonly daemon: { readonly uid: number; readonly gid: number };
  readonly monitor: { readonly uid: number; readonly gid: number };
  /** The group that /dev/kvm is for, which may be the daemon's own; undefined where the monitor needs none. */
  readonly kvmGid: number | undefined;
  readonly cgroup: string;
  readonly tap: string | undefined;
  /** Where the daemon reaches the agent and the monitor; undefined: nowhere. */
  readonly agentSocket?: string;
  readonly qmpSocket?: string;
  /** The file of the seccomp filter. */
  readonly filter: string;
  readonly bindings: readonly Binding[];
  /** Options of prlimit. */
  readonly resourceLimits: readonly string[];
  /** Programs by the paths they have here and inside. */
  readonly setpriv: string;
  readonly command: readonly string[];
}

/**
 * The whole command line of a jailed monitor, to be run as the daemon's user without any capability, and able to gain those that
 * newuidmap gains. Each program becomes the next, from the outside to the inside:
 * launch.pl opens what is handed in, joins the cgroup, and enters a user namespace; prlimit; bwrap makes the other namespaces, the
 * root, and installs the filter; setpriv becomes the machine's own user and gives up the rest.
 */
export function jailCommand(plan: JailPlan): string[] {
  return [
    ...launcherArgs(plan),
    ...['prlimit', ...plan.resourceLimits, '--'],
    ...bubblewrapArgs(plan),
    ...setprivArgs(plan),
    ...plan.command,
  ];
}

function launcherArgs({ daemon, monitor, kvmGid, cgroup, tap, agentSocket, qmpSocket, filter }: JailPlan) {
  const uids = [`${INSIDE.daemon} ${daemon.uid} 1`, `${INSIDE.monitor} ${monitor.uid} 1`];
  const gids = [`${INSIDE.daemon} ${daemon.gid} 1`, `${INSIDE.monitor} ${monitor.gid} 1`];
  if (kvmGid !== undefined && kvmGid !== daemon.gid) gids.push(`${INSIDE.kvm} ${kvmGid} 1`);
  return [
    ...['perl', LAUNCHER, '--cgroup', cgroup],
    ...['--uids', uids.join(','), '--gids', gids.join(',')],
    ...(tap === undefined ? [] : ['--tap', `${FD.tap}=${tap}`]),
    ...(agentSocket === undefined ? [] : ['--listen', `${FD.agent}=${agentSocket}`]),
    ...(qmpSocket === undefined ? [] : ['--listen', `${FD.qmp}=${qmpSocket}`]),
    ...['--file', `${FD.filter}=${filter}`, '--'],
  ];
}

const BIND = { read: '--ro-bind', write: '--bind', device: '--dev-bind' } as const;

/**
 * An empty root, read-only, with the bindings in it. Of the capabilities over its user namespace those are left for a moment that
 * setpriv needs to give up all of them.
 */
function bubblewrapArgs({ bindings }: JailPlan): string[] {
  const namespaces = ['pid', 'ipc', 'uts', 'net', 'cgroup'].map((name) => `--unshare-${name}`);
  return [
    ...['bwrap', '--die-with-parent', ...namespaces, '--hostname', 'jail'],
    ...['--cap-drop', 'ALL'],
    ...['SETUID', 'SETGID', 'SETPCAP'].flatMap((name) => ['--cap-add', `CAP_${name}`]),
    // By itself bwrap makes the directories above a binding for root alone.
    ...parentsOf(bindings).flatMap((dir) => ['--perms', '0755', '--dir', dir]),
    ...bindings.flatMap(({ path, access }) => [BIND[access], path, path]),
    ...['--remount-ro', '/', '--chdir', '/', '--seccomp', String(FD.filter), '--'],
  ];
}

/** Every directory above these paths but the root, outer ones first. */
function parentsOf(bindings: readonly Binding[]): string[] {
  const found = new Set<string>();
  for (const { path } of bindings)
    for (let dir = dirname(path); dir !== '/'; dir = dirname(dir)) found.add(dir);
  return [...found].toSorted();
}

function setprivArgs({ setpriv, daemon, kvmGid }: JailPlan): string[] {
  const kvm = kvmGid === daemon.gid ? INSIDE.daemon : INSIDE.kvm;
  const groups = kvmGid === undefined ? ['--clear-groups'] : ['--groups', String(kvm)];
  return [
    ...[setpriv, '--reuid', String(INSIDE.monitor), '--regid', String(INSIDE.monitor), ...groups],
    ...['--inh-caps=-all', '--ambient-caps=-all', '--bounding-set=-all', '--no-new-privs'],
    ...['--pdeathsig', 'KILL', '--'],
  ];
}

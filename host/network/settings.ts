import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findUplink } from '../../packages/daemon/src/adapters/network-linux/host.ts';
import { planNetwork } from '../../packages/daemon/src/adapters/network-linux/plan.ts';
import type { NetworkPlan } from '../../packages/daemon/src/adapters/network-linux/plan.ts';
import { readJailed, readNetworkSettings, readUser } from '../../packages/daemon/src/host-settings.ts';

/** What the set-up, its tear-down and the check work on. */
export interface HostSettings {
  /** Who runs the daemon. */
  readonly user: string;
  readonly plan: NetworkPlan;
  /** Whether machines run in jails. */
  readonly jailed: boolean;
  /** The interface to the outside, where there is one. */
  readonly uplink: string | undefined;
  readonly root: string;
  readonly stateDir: string;
  /** What a guest boots from, and the daemon's netlink helper. */
  readonly guestFiles: readonly string[];
  /** Where the set-up notes what it found, for the tear-down; emptied by a reboot, as what it notes is. */
  readonly runDir: string;
}

/** The whole program gives up then: a thousand taps take half of it. */
export const SIGNAL = AbortSignal.timeout(120_000);

/** Reads the variables that the daemon reads, as it does. Throws one error with a line for each that is malformed. */
export async function readSettings(env: NodeJS.ProcessEnv): Promise<HostSettings> {
  const reader = new Reader(env);
  const { uplink, ...network } = readNetworkSettings(reader);
  const user = readUser(reader);
  const jailed = readJailed(reader);
  if (reader.faults.length > 0) throw new Error(reader.faults.join('\n'));
  const isRoot = process.getuid?.() === 0;
  const ownDir = (variable: string, fallback: string) =>
    join(reader.text(variable) ?? join(homedir(), fallback), 'atoll');
  const cacheDir = isRoot ? '/var/cache/atoll' : ownDir('XDG_CACHE_HOME', '.cache');
  const guest = (variable: string, name: string) =>
    reader.text(variable) ?? join(reader.text('ATOLL_CACHE_DIR') ?? cacheDir, 'current', name);
  return {
    user,
    jailed,
    plan: planNetwork(network),
    uplink: uplink ?? (await findUplink(SIGNAL)),
    root: fileURLToPath(new URL('../..', import.meta.url)),
    stateDir:
      reader.text('SERVICE_STATE_DIR') ??
      (isRoot ? '/var/lib/atoll' : ownDir('XDG_STATE_HOME', '.local/state')),
    guestFiles: [
      guest('SERVICE_KERNEL_PATH', 'vmlinux'),
      guest('SERVICE_BASE_ROOTFS', 'rootfs.ext4'),
      guest('SERVICE_INITRAMFS_PATH', 'initramfs.cpio'),
      guest('SERVICE_NETLINK_PATH', 'netlink'),
    ],
    runDir: reader.text('ATOLL_RUN_DIR') ?? '/run/atoll',
  };
}

class Reader {
  readonly faults: string[] = [];
  readonly #env: NodeJS.ProcessEnv;

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  text(name: string): string | undefined {
    return this.#env[name] === '' ? undefined : this.#env[name];
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    const value = this.text(name) ?? String(fallback);
    if (/^\d+$/.test(value) && Number(value) >= min && Number(value) <= max) return Number(value);
    return this.fault(name, value, `an integer from ${min} to ${max}`, fallback);
  }

  fault<T>(name: string, value: string, takes: string, fallback: T): T {
    this.faults.push(`${name}=${value}: takes ${takes}`);
    return fallback;
  }
}

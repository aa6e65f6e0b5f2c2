import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { cgroupMount } from '../../packages/daemon/src/lib/cgroup.ts';
import { findProgram } from '../../packages/daemon/src/adapters/vmm-qemu/jail/programs.ts';
import { JAIL_PROGRAMS } from '../../packages/daemon/src/adapters/vmm-qemu/jail/requirements.ts';
import { largestRange, mayMap, readIds } from '../../packages/daemon/src/adapters/vmm-qemu/jail/subids.ts';
import { findAccount } from './accounts.ts';
import type { Account } from './accounts.ts';
import { DEVICES } from './devices.ts';
import { fault, sound } from './finding.ts';
import type { Finding } from './finding.ts';
import type { HostSettings } from './settings.ts';

// As useradd gives to people (SUB_UID_MIN and SUB_UID_COUNT of login.defs(5)).
const FIRST_ID = 100_000;
const IDS = 65_536;

const RANGES = [
  { file: '/etc/subuid', option: '--add-subuids' },
  { file: '/etc/subgid', option: '--add-subgids' },
] as const;

/** What jails need of a host beyond the rest; nothing where they are not asked for (SERVICE_JAILER_ENABLED). */
export async function checkJail({ user, jailed, plan }: HostSettings): Promise<Finding[]> {
  if (!jailed) return [];
  const account = await findAccount(user);
  const ids = account === undefined ? [] : await checkIds(account, plan.taps.length);
  return [...checkPrograms(), ...ids, await checkCgroups()];
}

function checkPrograms(): Finding[] {
  return Object.entries(JAIL_PROGRAMS).map(([program, name]) => {
    const path = findProgram(program);
    if (path !== undefined) return sound(program, path);
    return fault(program, 'is missing', ['apt-get', 'install', '--yes', '--no-install-recommends', name]);
  });
}

async function checkIds(account: Account, machines: number): Promise<Finding[]> {
  const texts = await Promise.all(RANGES.map(({ file }) => readIds(file)));
  const first = nextFree(texts.join('\n'));
  const ranges = RANGES.map(({ file, option }, at): Finding => {
    const range = largestRange(texts[at] ?? '', account.name, account.uid);
    if (range !== undefined && range.count >= machines)
      return sound(file, `${range.count} ids of ${account.name}, from ${range.start}`);
    const problem = `has no ${machines} ids for the machines of ${account.name}`;
    return fault(file, problem, ['usermod', option, `${first}-${first + IDS - 1}`, account.name]);
  });
  const kvm = await checkKvmGroup(account, texts[1] ?? '');
  return kvm === undefined ? ranges : [...ranges, kvm];
}

/** The first id behind all that is given to anybody. */
function nextFree(text: string): number {
  const ends = text.split('\n').map((line) => {
    const [, start, count] = line.split(':').map(Number);
    return (start ?? NaN) + (count ?? NaN);
  });
  return Math.max(FIRST_ID, ...ends.filter(Number.isFinite));
}

/** A jailed monitor opens KVM as a member of the device's group, so that group has to be the daemon's to hand on. */
async function checkKvmGroup({ name, uid, gid }: Account, subgid: string): Promise<Finding | undefined> {
  if (!existsSync(DEVICES.kvm)) return undefined;
  const kvm = await stat(DEVICES.kvm);
  const isOpen = (kvm.mode & 0o006) === 0o006 || kvm.gid === gid;
  // One that is root's alone becomes the user's by another check.
  if (isOpen || kvm.gid === 0 || mayMap(subgid, name, uid, kvm.gid))
    return sound('KVM in jails', `${DEVICES.kvm} can be opened there`);
  const problem = `${name} may not hand on group ${kvm.gid}, which ${DEVICES.kvm} is for`;
  return fault('KVM in jails', problem, ['usermod', '--add-subgids', `${kvm.gid}-${kvm.gid}`, name]);
}

async function checkCgroups(): Promise<Finding> {
  const mount = await cgroupMount();
  const controllers =
    mount === undefined ? '' : await readFile(`${mount}/cgroup.controllers`, 'utf8').catch(() => '');
  if (controllers.includes('memory')) return sound('cgroup v2', `${mount}: ${controllers.trim()}`);
  const advice = 'boot the host with systemd.unified_cgroup_hierarchy=1 on its kernel’s command line';
  return { ...fault('cgroup v2', 'is not there, or has no controllers'), advice };
}

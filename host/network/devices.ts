import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { findAccount, permits, READ, WRITE } from './accounts.ts';
import type { Account } from './accounts.ts';
import { fault, sound } from './finding.ts';
import type { Finding } from './finding.ts';
import type { HostSettings } from './settings.ts';

/** What a machine's QEMU opens, as the daemon's user. */
export const DEVICES = { tun: '/dev/net/tun', kvm: '/dev/kvm' } as const;

export async function checkDevices({ user }: HostSettings): Promise<Finding[]> {
  const account = await findAccount(user);
  // Without the user there is nobody to ask about; that is a fault of its own.
  if (account === undefined) return [];
  return [await checkTun(account), await checkKvm(account)];
}

async function checkTun(account: Account): Promise<Finding> {
  const path = DEVICES.tun;
  if (!existsSync(path)) return fault(path, 'is missing', ['modprobe', 'tun']);
  return checkDevice(path, account);
}

async function checkKvm(account: Account): Promise<Finding> {
  const path = DEVICES.kvm;
  if (!existsSync(path)) return sound(path, 'not there: guests are emulated, which is slower');
  return checkDevice(path, account);
}

/** A device that is root's alone goes to the user's own group; one with a group of its own takes the user in. */
async function checkDevice(path: string, account: Account): Promise<Finding> {
  if (await permits(path, account, READ | WRITE)) return sound(path, `open to ${account.name}`);
  const { gid, mode } = await stat(path);
  const problem = `may not be opened by ${account.name}`;
  if (gid === 0) return fault(path, problem, ['chgrp', String(account.gid), path], ['chmod', '0660', path]);
  const chmod = ((mode >> 3) & (READ | WRITE)) === (READ | WRITE) ? [] : [['chmod', 'g+rw', path]];
  return fault(path, problem, ...chmod, ['usermod', '--append', '--groups', String(gid), account.name]);
}

import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** A user of the host, by number. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  /** Every group, the main one too. */
  readonly gids: readonly number[];
}

/** Undefined when the host has no such user. */
export async function findAccount(name: string): Promise<Account | undefined> {
  try {
    const [uid = NaN, gid = NaN, ...gids] = (
      await Promise.all(['-u', '-g', '-G'].map((what) => execute('id', [what, name])))
    ).flatMap(({ stdout }) => stdout.trim().split(' ').map(Number));
    return { name, uid, gid, gids };
  } catch {
    return undefined;
  }
}

/** Permission bits as stat(2) has them for one class of users. */
export const READ = 4;
export const WRITE = 2;
const ENTER = 1;

/** Whether an account may do that with a file, by its mode alone. Rejects when the file is not there. */
export async function permits(path: string, { uid, gids }: Account, bits: number): Promise<boolean> {
  if (uid === 0) return true;
  const file = await stat(path);
  const shift = file.uid === uid ? 6 : gids.includes(file.gid) ? 3 : 0;
  return ((file.mode >> shift) & bits) === bits;
}

/** The first directory on the way to a file that an account may not enter. */
export async function closedDirectory(path: string, account: Account): Promise<string | undefined> {
  const parent = dirname(path);
  if (parent === path) return undefined;
  return (
    (await closedDirectory(parent, account)) ?? ((await permits(parent, account, ENTER)) ? undefined : parent)
  );
}

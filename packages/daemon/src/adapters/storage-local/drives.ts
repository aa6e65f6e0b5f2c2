import { mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../../lib/run.ts';
import type { DriveStore, NewDrive, StoredDrive } from '../../ports/drives.ts';
import { NoSpace } from '../../ports/snapshots.ts';
import { readSuperblock } from './ext4.ts';

const MIB = 1024 * 1024;
// The id, and when it was made, to the millisecond, since a list has them in order: a file's own times change as it is written.
const NAME = /^([0-9a-f-]{36})-(\d+(?:\.\d+)?)\.ext4$/;
const DRAFT_SUFFIX = '.part';

// What mke2fs writes: measured 0.1 MiB for the smallest, and 14 for each TiB.
const MIN_METADATA_BYTES = 4 * MIB;
const SIZE_PER_METADATA = 50_000;

/** Drives as sparse ext4 files `<id>-<seconds since 1970, with a fraction>.ext4` in one directory. */
export class LocalDrives implements DriveStore {
  readonly drivesDir: string;

  constructor(drivesDir: string) {
    this.drivesDir = drivesDir;
  }

  async load(): Promise<readonly StoredDrive[]> {
    await mkdir(this.drivesDir, { recursive: true, mode: 0o700 });
    const names = await readdir(this.drivesDir);
    for (const name of names.filter((each) => each.endsWith(DRAFT_SUFFIX)))
      await rm(join(this.drivesDir, name));
    const drives = names.flatMap((name) => {
      const [, id, createdAt] = NAME.exec(name) ?? [];
      return id === undefined ? [] : [{ id, createdAt: Number(createdAt), path: join(this.drivesDir, name) }];
    });
    drives.sort((a, b) => a.createdAt - b.createdAt);
    return Promise.all(
      drives.map(async ({ id, createdAt, path }) => {
        const { size } = await stat(path);
        return { id, path, sizeMib: Math.round(size / MIB), createdAtUnix: Math.floor(createdAt) };
      }),
    );
  }

  async create({ id, label, sizeMib }: NewDrive, signal: AbortSignal): Promise<StoredDrive> {
    signal.throwIfAborted();
    await this.#assertRoom(sizeMib);
    const createdAt = Date.now() / 1000;
    const path = join(this.drivesDir, `${id}-${createdAt.toFixed(3)}.ext4`);
    const draft = path + DRAFT_SUFFIX;
    try {
      await makeSparse(draft, sizeMib * MIB);
      await run('mke2fs', [...formatArgs(id, label), draft], signal, ADMIN_PATH);
      await using file = await open(draft, 'r');
      await file.sync();
      await rename(draft, path);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
    return { id, sizeMib, createdAtUnix: Math.floor(createdAt), path };
  }

  async needsRecovery({ path }: StoredDrive): Promise<boolean> {
    await using file = await open(path, 'r');
    return (await readSuperblock(file))?.needsRecovery ?? false;
  }

  async contentMark({ path }: StoredDrive): Promise<string> {
    return String((await stat(path, { bigint: true })).mtimeNs);
  }

  async remove({ path }: StoredDrive): Promise<void> {
    await rm(path, { force: true });
  }

  async #assertRoom(sizeMib: number): Promise<void> {
    const { bavail, bsize } = await statfs(this.drivesDir);
    const free = bavail * bsize;
    const needed = MIN_METADATA_BYTES + Math.ceil((sizeMib * MIB) / SIZE_PER_METADATA);
    if (free < needed) throw new NoSpace(this.drivesDir, needed, free);
  }
}

// Where Debian keeps mke2fs is not in every user's PATH.
const ADMIN_PATH = { PATH: `${process.env.PATH ?? ''}:/usr/sbin:/sbin`, LC_ALL: 'C' };

/**
 * Nothing is reserved for root, and nothing is written that a hole says as well: neither here nor, later, by a thread of the
 * guest's kernel. The file system has the drive's own id.
 */
function formatArgs(id: string, label: string): string[] {
  const options = 'root_owner=0:0,assume_storage_prezeroed=1,lazy_journal_init=1,nodiscard';
  return ['-q', '-F', '-t', 'ext4', '-m', '0', '-b', '4096', '-L', label, '-U', id, '-E', options];
}

async function makeSparse(path: string, bytes: number): Promise<void> {
  await using file = await open(path, 'wx', 0o600);
  await file.truncate(bytes);
}

import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DriveStore, NewDrive, StoredDrive } from '../ports/drives.ts';

/** Drives that are empty files; `drives.contract.ts` holds it to what the real one does. */
export class FakeDrives implements DriveStore, AsyncDisposable {
  readonly drivesDir: string;
  /** Ids of those whose last writer was cut off. */
  readonly cutOff = new Set<string>();

  /** How often something was written to a drive, by its id. */
  readonly writes = new Map<string, number>();

  constructor(drivesDir: string) {
    this.drivesDir = drivesDir;
  }

  static async open(): Promise<FakeDrives> {
    return new FakeDrives(await mkdtemp(join(tmpdir(), 'atoll-fake-drives-')));
  }

  async load(): Promise<readonly StoredDrive[]> {
    await mkdir(this.drivesDir, { recursive: true });
    const names = await readdir(this.drivesDir);
    const texts = await Promise.all(names.map((name) => readFile(join(this.drivesDir, name), 'utf8')));
    const drives = texts.map((text) => JSON.parse(text) as { drive: StoredDrive; at: number });
    return drives.toSorted((a, b) => a.at - b.at).map(({ drive }) => drive);
  }

  async create({ id, sizeMib }: NewDrive, signal: AbortSignal): Promise<StoredDrive> {
    signal.throwIfAborted();
    const path = join(this.drivesDir, id);
    const drive = { id, sizeMib, createdAtUnix: Math.floor(Date.now() / 1000), path };
    await writeFile(path, JSON.stringify({ drive, at: performance.now() }), { flag: 'wx' });
    return drive;
  }

  needsRecovery({ id }: StoredDrive): Promise<boolean> {
    return Promise.resolve(this.cutOff.has(id));
  }

  contentMark({ id }: StoredDrive): Promise<string> {
    return Promise.resolve(String(this.writes.get(id) ?? 0));
  }

  async remove({ path }: StoredDrive): Promise<void> {
    await rm(path, { force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.drivesDir, { recursive: true, force: true });
  }
}

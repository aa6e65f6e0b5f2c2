import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { run } from '../../lib/run.ts';
import type { SnapshotRecord, StoredSnapshot } from '../../ports/snapshots.ts';
import type { MachineFiles } from '../../ports/storage.ts';
import type { Layers } from './layers.ts';
import { writeManifest } from './manifest.ts';
import type { FileSizes } from './manifest.ts';

/** Names below a snapshot's directory. */
export const SNAPSHOT_FILES = { state: 'state', memory: 'memory' } as const;

const MOVE_MS = 10 * 60_000;

/** One snapshot in the making, in a directory of its own. */
export class LocalDraft {
  readonly state: string;
  readonly #id: string;
  readonly #dir: string;
  readonly #machine: MachineFiles;
  readonly #layers: Layers;
  readonly #undo = new AsyncDisposableStack();

  constructor(id: string, dir: string, machine: MachineFiles, layers: Layers) {
    this.#id = id;
    this.#dir = dir;
    this.#machine = machine;
    this.#layers = layers;
    this.state = join(dir, SNAPSHOT_FILES.state);
    this.#undo.defer(() => rm(dir, { recursive: true, force: true }));
  }

  /** As a SnapshotDraft's; `number` is the snapshot's place among those of its store. */
  async commit(record: SnapshotRecord, number: number, memoryInState: boolean): Promise<StoredSnapshot> {
    const memory = memoryInState ? undefined : join(this.#dir, SNAPSHOT_FILES.memory);
    const files = await this.#sizes(memoryInState);
    const own = this.#machine;
    if (memory !== undefined) {
      this.#undo.defer(() => putBack(memory, own.memory));
      await move(own.memory, memory);
    }
    const holder = snapshotHolder(this.#id);
    this.#undo.defer(() => this.#layers.thaw(this.#id, holder, (path) => putBack(path, own.rootDisk)));
    await this.#layers.freeze(this.#id, holder, (path) => move(own.rootDisk, path));
    await writeManifest(this.#dir, { record, number, files });
    this.#undo.move();
    return { record, state: this.state, memory };
  }

  discard(): Promise<void> {
    return this.#undo.disposeAsync();
  }

  async #sizes(memoryInState: boolean): Promise<FileSizes> {
    const state = await stat(this.state);
    return {
      memory_bytes: memoryInState ? null : (await stat(this.#machine.memory)).size,
      state_bytes: state.size,
      state_sha256: memoryInState ? null : await sha256(this.state),
    };
  }
}

/** Who keeps a snapshot's layer, as the layers know it. */
export function snapshotHolder(id: string): string {
  return `snapshot ${id}`;
}

export async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** Renames a file, or copies it where the two places are not of one file system. */
async function move(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    await copyAway(from, to);
  }
}

/** Undoes a move, whether it was made, half made or not: a file that was copied still is where it was, and in use. */
async function putBack(from: string, to: string): Promise<void> {
  const isThere = await access(to).then(
    () => true,
    () => false,
  );
  if (isThere) await rm(from, { force: true });
  else await rename(from, to);
}

async function copyAway(from: string, to: string): Promise<void> {
  const draft = `${to}.draft`;
  try {
    await run('cp', ['--sparse=always', from, draft], AbortSignal.timeout(MOVE_MS));
    await rename(draft, to);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

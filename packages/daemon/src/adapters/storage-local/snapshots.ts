import { mkdir, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { isErrno, reasonOf } from '../../lib/errors.ts';
import { NoSpace } from '../../ports/snapshots.ts';
import type {
  FoundSnapshots,
  MemoryCopy,
  SnapshotDraft,
  SnapshotFault,
  SnapshotRecord,
  SnapshotStore,
  StoredSnapshot,
} from '../../ports/snapshots.ts';
import type { MachineFiles } from '../../ports/storage.ts';
import { LocalDraft, sha256, SNAPSHOT_FILES, snapshotHolder } from './draft.ts';
import { Archive } from './archive.ts';
import { allocated, canRename, exists } from './files.ts';
import { Layers } from './layers.ts';
import { machineFiles } from './machine-files.ts';
import { MANIFEST, readManifest, writeManifest } from './manifest.ts';
import type { FileSizes } from './manifest.ts';
import { copyMemory } from './memory-copy.ts';

const MIB = 1024 * 1024;

// Device state and manifest: some 60 KB, and directories.
const STATE_BYTES = 2 * MIB;

export interface LocalSnapshotsOptions {
  readonly snapshotsDir: string;
  readonly machinesDir: string;
  /** Where state and memory are put away, packed. */
  readonly archiveDir: string;
  /** Hears of work in the background that failed; nothing is lost then but room. */
  readonly onFault: (id: string, error: unknown) => void;
}

/**
 * Snapshots on a local file system, below `<snapshots dir>`: `held/<id>/` has manifest, state and memory; `layers/<id>.qcow2` is what
 * the sandbox wrote to its disk, over the layer it started from; `damaged/<id>/` is what could not be read. A snapshot without
 * a manifest does not count.
 */
export class LocalSnapshots implements SnapshotStore, AsyncDisposable {
  readonly snapshotsDir: string;
  readonly #machinesDir: string;
  readonly #heldDir: string;
  readonly #damagedDir: string;
  readonly #layers: Layers;
  readonly #archive: Archive;
  /** Whether a machine's files become a snapshot's by renaming them: not so between two file systems or two mounts. */
  readonly #renames: boolean;
  /** Of the snapshot that was taken last. */
  #lastNumber = 0;

  private constructor(options: LocalSnapshotsOptions, layers: Layers, renames: boolean) {
    this.snapshotsDir = options.snapshotsDir;
    this.#machinesDir = options.machinesDir;
    this.#heldDir = join(options.snapshotsDir, 'held');
    this.#damagedDir = join(options.snapshotsDir, 'damaged');
    this.#layers = layers;
    this.#archive = new Archive(options.archiveDir);
    this.#renames = renames;
  }

  static async open(options: LocalSnapshotsOptions): Promise<LocalSnapshots> {
    const { snapshotsDir, machinesDir, onFault } = options;
    const layers = await Layers.open(join(snapshotsDir, 'layers'), onFault);
    const renames = await canRename(machinesDir, snapshotsDir);
    const store = new LocalSnapshots(options, layers, renames);
    for (const dir of [store.#heldDir, store.#damagedDir]) await mkdir(dir, { recursive: true, mode: 0o700 });
    return store;
  }

  async recover(signal: AbortSignal): Promise<FoundSnapshots> {
    const whole: { snapshot: StoredSnapshot; number: number }[] = [];
    const damaged: { id: string; reason: string; movedTo: string }[] = [];
    const halfMade: string[] = [];
    // What a damaged snapshot stood on may be of use to whoever mends it.
    for (const id of await readdir(this.#damagedDir)) this.#layers.hold(`damaged ${id}`, [id]);
    for (const id of await readdir(this.#heldDir)) {
      signal.throwIfAborted();
      if (!(await exists(join(this.#heldDir, id, MANIFEST)))) {
        await rm(join(this.#heldDir, id), { recursive: true, force: true });
        halfMade.push(id);
        continue;
      }
      try {
        whole.push(await this.#read(id));
        this.#layers.hold(snapshotHolder(id), [id]);
      } catch (error) {
        if (isOfHost(error)) throw error;
        damaged.push({ id, reason: reasonOf(error), movedTo: await this.#setAside(id) });
      }
    }
    await this.#layers.sweep();
    whole.sort(
      (a, b) => a.number - b.number || a.snapshot.record.createdAtUnix - b.snapshot.record.createdAtUnix,
    );
    this.#lastNumber = whole.at(-1)?.number ?? 0;
    return { whole: whole.map(({ snapshot }) => snapshot), damaged, halfMade };
  }

  async draft(
    id: string,
    machineId: string,
    memoryInStateMib: number,
    signal: AbortSignal,
  ): Promise<SnapshotDraft> {
    const machine = machineFiles(this.#machinesDir, machineId);
    const copied = this.#renames
      ? 0
      : (await allocated(machine.memory)) + (await allocated(machine.rootDisk));
    const needBytes = STATE_BYTES + memoryInStateMib * MIB + copied;
    const freeBytes = await this.freeBytes();
    if (freeBytes < needBytes) throw new NoSpace(this.snapshotsDir, needBytes, freeBytes);
    signal.throwIfAborted();
    const dir = this.#dir(id);
    await mkdir(dir, { mode: 0o700 });
    const draft = new LocalDraft(id, dir, machine, this.#layers);
    return {
      state: draft.state,
      needBytes,
      discard: () => draft.discard(),
      commit: async (record, memoryInState) => {
        const stored = await draft.commit(record, ++this.#lastNumber, memoryInState);
        this.#layers.shorten(id);
        return stored;
      },
    };
  }

  retire(snapshot: StoredSnapshot, retiredAtUnix: number): Promise<StoredSnapshot> {
    return this.#rewrite(snapshot, { retiredAtUnix });
  }

  pin(snapshot: StoredSnapshot, pinned: boolean): Promise<StoredSnapshot> {
    return this.#rewrite(snapshot, { pinned });
  }

  async archive(
    snapshot: StoredSnapshot,
    archivedAtUnix: number,
    signal: AbortSignal,
  ): Promise<StoredSnapshot> {
    await this.#archive.store(snapshot.record.id, filesOf(snapshot), signal);
    const archived = await this.#rewrite(snapshot, { archivedAtUnix });
    await Promise.all(filesOf(snapshot).map((file) => rm(file, { force: true })));
    return archived;
  }

  async unarchive(snapshot: StoredSnapshot, signal: AbortSignal): Promise<StoredSnapshot> {
    const { id } = snapshot.record;
    await this.#archive.fetch(id, filesOf(snapshot), signal);
    const fetched = await this.#rewrite(snapshot, { archivedAtUnix: undefined });
    await this.#archive.remove(id);
    return fetched;
  }

  async findFault({ record }: StoredSnapshot, signal: AbortSignal): Promise<SnapshotFault | undefined> {
    try {
      const { files } = await readManifest(this.#dir(record.id));
      signal.throwIfAborted();
      const fault = (await this.#sizeFault(record, files)) ?? (await this.#contentFault(record.id, files));
      if (fault !== undefined) return fault;
      await Promise.all(this.#layers.chain(record.id).map((layer) => this.#layers.check(layer)));
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      if (isOfHost(error)) throw error;
      return { what: 'files', recorded: 'whole', actual: reasonOf(error) };
    }
  }

  async createMachine(id: string, { record }: StoredSnapshot, signal: AbortSignal): Promise<MachineFiles> {
    const files = machineFiles(this.#machinesDir, id);
    signal.throwIfAborted();
    // All of the chain by name: a layer that is made to stand on the base alone leaves those below it to this machine.
    this.#layers.hold(machineHolder(id), this.#layers.chain(record.id));
    try {
      await mkdir(files.dir, { mode: 0o700 });
      await this.#layers.cover(record.id, files.rootDisk);
      return files;
    } catch (error) {
      await this.removeMachine(id);
      throw error;
    }
  }

  async copyMemory({ record, memory }: StoredSnapshot, to: string, signal: AbortSignal): Promise<MemoryCopy> {
    if (memory === undefined) throw new Error(`snapshot ${record.id} has no memory file`);
    return copyMemory(memory, to, signal);
  }

  async removeMachine(id: string): Promise<void> {
    await rm(join(this.#machinesDir, id), { recursive: true, force: true });
    await this.#layers.drop(machineHolder(id));
  }

  /** The manifest goes first: what a cut leaves of the rest is half-made then. */
  async remove(id: string): Promise<void> {
    const dir = this.#dir(id);
    await rm(join(dir, MANIFEST), { force: true });
    await rm(dir, { recursive: true, force: true });
    await this.#archive.remove(id);
    await this.#layers.drop(snapshotHolder(id));
  }

  async uniqueBytes(id: string): Promise<number> {
    const dir = this.#dir(id);
    const names = await readdir(dir);
    const sizes = await Promise.all(names.map((name) => allocated(join(dir, name))));
    const archived = await this.#archive.bytes(id).catch(() => 0);
    const own = sizes.reduce((sum, size) => sum + size, archived);
    return own + (await this.#layers.uniqueBytes(snapshotHolder(id)));
  }

  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.snapshotsDir);
    return bavail * bsize;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#layers.close();
  }

  #dir(id: string): string {
    return join(this.#heldDir, id);
  }

  async #rewrite(snapshot: StoredSnapshot, news: Partial<SnapshotRecord>): Promise<StoredSnapshot> {
    const record: SnapshotRecord = { ...snapshot.record, ...news };
    const dir = this.#dir(record.id);
    await writeManifest(dir, { ...(await readManifest(dir)), record });
    return { ...snapshot, record };
  }

  async #read(id: string): Promise<{ snapshot: StoredSnapshot; number: number }> {
    const dir = this.#dir(id);
    const { record, number, files } = await readManifest(dir);
    if (record.id !== id) throw new Error(`its manifest is that of ${record.id}`);
    const fault = await this.#sizeFault(record, files);
    if (fault !== undefined)
      throw new Error(`${fault.what}: ${fault.recorded} recorded, ${fault.actual} found`);
    const memory = files.memory_bytes === null ? undefined : join(dir, SNAPSHOT_FILES.memory);
    return { snapshot: { record, state: join(dir, SNAPSHOT_FILES.state), memory }, number };
  }

  async #sizeFault(
    { id, archivedAtUnix }: SnapshotRecord,
    files: FileSizes,
  ): Promise<SnapshotFault | undefined> {
    const dir = this.#dir(id);
    for (const layer of this.#layers.chain(id)) {
      // One that was let go of meanwhile is not of the chain any more, which was made short.
      if (!(await exists(this.#layers.path(layer))) && this.#layers.has(layer))
        return { what: `layer ${layer}`, recorded: 'there', actual: 'missing' };
    }
    // What is packed is checked when it is unpacked; an archive may be on a disk that is not there at every start.
    if (archivedAtUnix !== undefined) return undefined;
    const expected: [string, number | null][] = [
      [SNAPSHOT_FILES.state, files.state_bytes],
      [SNAPSHOT_FILES.memory, files.memory_bytes],
    ];
    for (const [name, bytes] of expected) {
      if (bytes === null) continue;
      const { size } = await stat(join(dir, name));
      if (size !== bytes)
        return { what: `size of ${name}`, recorded: `${bytes} bytes`, actual: `${size} bytes` };
    }
    return undefined;
  }

  async #contentFault(id: string, { state_sha256 }: FileSizes): Promise<SnapshotFault | undefined> {
    if (state_sha256 === null) return undefined;
    const actual = await sha256(join(this.#dir(id), SNAPSHOT_FILES.state));
    return actual === state_sha256 ? undefined : { what: 'SHA-256 of state', recorded: state_sha256, actual };
  }

  async #setAside(id: string): Promise<string> {
    const to = join(this.#damagedDir, id);
    await rename(this.#dir(id), to);
    this.#layers.hold(`damaged ${id}`, [id]);
    return to;
  }
}

/** What an archive takes of a snapshot. */
function filesOf({ state, memory }: StoredSnapshot): string[] {
  return memory === undefined ? [state] : [state, memory];
}

/** No file descriptor or memory was left to read with, which says nothing about what was to be read. */
function isOfHost(error: unknown): boolean {
  return isErrno(error, 'EMFILE', 'ENFILE', 'ENOMEM');
}

function machineHolder(id: string): string {
  return `machine ${id}`;
}

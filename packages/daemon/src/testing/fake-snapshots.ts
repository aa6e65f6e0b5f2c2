import {
  access,
  appendFile,
  copyFile,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import type {
  FoundSnapshots,
  MemoryCopy,
  SnapshotDraft,
  SnapshotFault,
  SnapshotRecord,
  SnapshotStore,
  StoredSnapshot,
} from '../ports/snapshots.ts';
import type { MachineFiles } from '../ports/storage.ts';

/** Snapshots as directories of whole files: no disk stands on another. */
export class FakeSnapshots implements SnapshotStore {
  readonly snapshotsDir: string;
  readonly #machinesDir: string;
  /** What the next `findFault` answers. */
  fault: SnapshotFault | undefined;
  /** Ids of those whose state holds the memory. */
  readonly #inState = new Set<string>();

  private constructor(snapshotsDir: string, machinesDir: string) {
    this.snapshotsDir = snapshotsDir;
    this.#machinesDir = machinesDir;
  }

  static async open(dir: string, machinesDir: string): Promise<FakeSnapshots> {
    await mkdir(join(dir, 'damaged'), { recursive: true });
    await mkdir(join(dir, 'held'), { recursive: true });
    return new FakeSnapshots(dir, machinesDir);
  }

  async recover(): Promise<FoundSnapshots> {
    const found = { whole: [] as StoredSnapshot[], damaged: [] as never[], halfMade: [] as string[] };
    const damaged: { id: string; reason: string; movedTo: string }[] = [];
    // A line for each that was committed.
    const taken = await readFile(this.#order, 'utf8').catch(() => '');
    const held = await readdir(join(this.snapshotsDir, 'held'));
    for (const id of held.toSorted((a, b) => taken.indexOf(a) - taken.indexOf(b))) {
      const text = await readFile(join(this.#dir(id), 'manifest.json'), 'utf8').catch(() => undefined);
      if (text === undefined) {
        await this.remove(id);
        found.halfMade.push(id);
        continue;
      }
      try {
        const record = JSON.parse(text) as SnapshotRecord;
        await access(this.#stored(record).state);
        found.whole.push(this.#stored(record));
      } catch (error) {
        const movedTo = join(this.snapshotsDir, 'damaged', id);
        await rename(this.#dir(id), movedTo);
        damaged.push({ id, reason: String(error), movedTo });
      }
    }
    return { ...found, damaged };
  }

  async draft(
    id: string,
    machineId: string,
    _memoryMib: number,
    signal: AbortSignal,
  ): Promise<SnapshotDraft> {
    signal.throwIfAborted();
    const dir = this.#dir(id);
    const machine = this.#files(machineId);
    const [memory, disk] = [join(dir, 'memory'), join(dir, 'root.qcow2')];
    await mkdir(dir);
    const putBack = async () => {
      await rename(disk, machine.rootDisk).catch(() => undefined);
      await rename(memory, machine.memory).catch(() => undefined);
      await rm(dir, { recursive: true, force: true });
    };
    return {
      state: join(dir, 'state'),
      needBytes: 1,
      discard: putBack,
      commit: async (record, memoryInState) => {
        await access(join(dir, 'state'));
        if (memoryInState) this.#inState.add(id);
        else await rename(machine.memory, memory);
        await rename(machine.rootDisk, disk);
        await appendFile(this.#order, `${id}\n`);
        return this.#write(record);
      },
    };
  }

  retire({ record }: StoredSnapshot, retiredAtUnix: number): Promise<StoredSnapshot> {
    return this.#write({ ...record, retiredAtUnix });
  }

  pin({ record }: StoredSnapshot, pinned: boolean): Promise<StoredSnapshot> {
    return this.#write({ ...record, pinned });
  }

  archive({ record }: StoredSnapshot, archivedAtUnix: number): Promise<StoredSnapshot> {
    return this.#write({ ...record, archivedAtUnix });
  }

  unarchive({ record }: StoredSnapshot): Promise<StoredSnapshot> {
    return this.#write({ ...record, archivedAtUnix: undefined });
  }

  async findFault({ record }: StoredSnapshot): Promise<SnapshotFault | undefined> {
    try {
      await access(this.#stored(record).state);
      return this.fault;
    } catch (error) {
      return { what: 'files', recorded: 'whole', actual: String(error) };
    }
  }

  async createMachine(id: string, { record }: StoredSnapshot, signal: AbortSignal): Promise<MachineFiles> {
    signal.throwIfAborted();
    const files = this.#files(id);
    await mkdir(files.dir);
    await copyFile(join(this.#dir(record.id), 'root.qcow2'), files.rootDisk);
    return files;
  }

  async copyMemory({ memory = '' }: StoredSnapshot, to: string): Promise<MemoryCopy> {
    await copyFile(memory, to);
    return { filled: Promise.resolve() };
  }

  async removeMachine(id: string): Promise<void> {
    await rm(join(this.#machinesDir, id), { recursive: true, force: true });
  }

  async remove(id: string): Promise<void> {
    await rm(this.#dir(id), { recursive: true, force: true });
  }

  async uniqueBytes(id: string): Promise<number> {
    const names = await readdir(this.#dir(id));
    const sizes = await Promise.all(
      names.map(async (name) => (await stat(join(this.#dir(id), name))).blocks),
    );
    return sizes.reduce((sum, blocks) => sum + blocks * 512, 0);
  }

  freeBytes(): Promise<number> {
    return Promise.resolve(2 ** 40);
  }

  async #write(record: SnapshotRecord): Promise<StoredSnapshot> {
    await writeFile(join(this.#dir(record.id), 'manifest.json'), JSON.stringify(record));
    return this.#stored(record);
  }

  #stored(record: SnapshotRecord): StoredSnapshot {
    const dir = this.#dir(record.id);
    const memory = this.#inState.has(record.id) ? undefined : join(dir, 'memory');
    return { record, state: join(dir, 'state'), memory };
  }

  get #order(): string {
    return join(this.snapshotsDir, 'order');
  }

  #dir(id: string): string {
    return join(this.snapshotsDir, 'held', id);
  }

  #files(id: string): MachineFiles {
    const dir = join(this.#machinesDir, id);
    return { dir, rootDisk: join(dir, 'root.qcow2'), memory: join(dir, 'memory') };
  }
}

import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MachineFiles, Storage } from '../ports/storage.ts';

/** Directories without disks in them; `storage.contract.ts` holds it to what the real one does. */
export class FakeStorage implements Storage, AsyncDisposable {
  readonly machinesDir: string;
  readonly #dir: string;

  private constructor(dir: string) {
    this.#dir = dir;
    this.machinesDir = join(dir, 'machines');
  }

  static async open(): Promise<FakeStorage> {
    const storage = new FakeStorage(await mkdtemp(join(tmpdir(), 'atoll-fake-')));
    await mkdir(storage.machinesDir);
    return storage;
  }

  async createMachine(id: string, signal: AbortSignal, _rootfs?: string): Promise<MachineFiles> {
    signal.throwIfAborted();
    const dir = join(this.machinesDir, id);
    const rootDisk = join(dir, 'root.qcow2');
    await mkdir(dir);
    await writeFile(rootDisk, '');
    return { dir, rootDisk, memory: join(dir, 'memory') };
  }

  async removeMachine(id: string): Promise<void> {
    await rm(join(this.machinesDir, id), { recursive: true, force: true });
  }

  listMachines(): Promise<readonly string[]> {
    return readdir(this.machinesDir);
  }

  freeBytes(): Promise<number> {
    return Promise.resolve(2 ** 40);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#dir, { recursive: true, force: true });
  }
}

import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { packFile, unpackFile } from './compressed.ts';

const PACKED = '.zst';
const DRAFT = '.part';

/** Files put away, packed, in a directory of their own for each snapshot: all of them or none. May be on another file system. */
export class Archive {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Packs files into the archive, in place of what it had under this id. Leaves nothing when it fails. */
  async store(id: string, files: readonly string[], signal: AbortSignal): Promise<void> {
    const draft = this.#path(id) + DRAFT;
    try {
      await rm(draft, { recursive: true, force: true });
      await mkdir(draft, { recursive: true, mode: 0o700 });
      for (const file of files) await packFile(file, join(draft, basename(file) + PACKED), signal);
      await this.remove(id);
      await rename(draft, this.#path(id));
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      throw error;
    }
  }

  /** Unpacks files to where they were. What is there already stays, since it is whole: each comes to its name in one step. */
  async fetch(id: string, files: readonly string[], signal: AbortSignal): Promise<void> {
    for (const file of files) {
      const draft = file + DRAFT;
      try {
        await rm(draft, { force: true });
        await unpackFile(join(this.#path(id), basename(file) + PACKED), draft, signal);
        await rename(draft, file);
      } catch (error) {
        await rm(draft, { force: true });
        throw error;
      }
    }
  }

  /** Harmless when there is nothing. */
  async remove(id: string): Promise<void> {
    await rm(this.#path(id), { recursive: true, force: true });
  }

  /** Rejects when it has nothing of this id. */
  async bytes(id: string): Promise<number> {
    const names = await readdir(this.#path(id));
    const sizes = await Promise.all(names.map((name) => stat(join(this.#path(id), name))));
    return sizes.reduce((sum, { blocks }) => sum + blocks * 512, 0);
  }

  #path(id: string): string {
    return join(this.#dir, id);
  }
}

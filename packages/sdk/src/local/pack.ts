import { constants } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import { lstat, open, readdir, readlink, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { createTarPacker } from 'modern-tar';
import type { TarHeader, TarPackController } from 'modern-tar';
import { CopyError } from '../errors.ts';
import type { TreeOptions } from './tree.ts';

const PERMISSIONS = 0o7777n;
const SECOND_NS = 1_000_000_000n;
const CHUNK_BYTES = 1 << 20;

/**
 * A tar of what a folder holds, or of a single file by the name it is to have. A folder comes before its content, and all of that
 * together: who unpacks it can finish a folder when the archive leaves it. Sockets and devices are left out.
 */
export function packTree(
  path: string,
  name = './',
  options: TreeOptions = {},
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const { readable, controller } = createTarPacker();
  new Packer(controller, options).tree(path, name).then(
    () => controller.finalize(),
    (error: unknown) => controller.error(error),
  );
  return readable;
}

/** The bytes of all files of a tree. */
export async function measureTree(path: string): Promise<number> {
  let total = 0;
  for await (const { stats } of walk(path, './', await stat(path, { bigint: true })))
    if (stats.isFile()) total += Number(stats.size);
  return total;
}

interface Found {
  readonly path: string;
  readonly name: string;
  readonly stats: BigIntStats;
}

/** Everything at and below a path, folders before what they hold. What vanishes meanwhile is left out. */
async function* walk(path: string, name: string, stats: BigIntStats): AsyncGenerator<Found, void> {
  yield { path, name, stats };
  if (!stats.isDirectory()) return;
  for (const each of (await readdir(path)).sort()) {
    const below = await lstat(join(path, each), { bigint: true }).catch(unlessGone);
    if (below === undefined) continue;
    yield* walk(join(path, each), `${name}${each}${below.isDirectory() ? '/' : ''}`, below);
  }
}

class Packer {
  readonly #archive: TarPackController;
  readonly #options: TreeOptions;
  /** Files of more than one name, by what they are, with the first of their names. */
  readonly #linked = new Map<string, string>();

  constructor(archive: TarPackController, options: TreeOptions) {
    this.#archive = archive;
    this.#options = options;
  }

  async tree(path: string, name: string): Promise<void> {
    for await (const found of walk(path, name, await stat(path, { bigint: true }))) await this.#add(found);
  }

  async #add(found: Found): Promise<void> {
    const { path, stats } = found;
    if (stats.isDirectory()) await this.#empty(found, { type: 'directory' });
    else if (stats.isSymbolicLink())
      await this.#empty(found, { type: 'symlink', linkname: await readlink(path) });
    else if (stats.isFIFO()) await this.#empty(found, { type: 'fifo' });
    else if (stats.isFile()) await this.#file(found);
    else this.#options.onSkipped?.(path);
  }

  async #file(found: Found): Promise<void> {
    const { path, name, stats } = found;
    if (stats.nlink > 1n) {
      const key = `${stats.dev}:${stats.ino}`;
      const first = this.#linked.get(key);
      if (first !== undefined) return this.#empty(found, { type: 'link', linkname: first });
      this.#linked.set(key, name);
    }
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      // Asked anew of what is open: the name may stand for something else by now.
      await this.#content({ path, name, stats: await file.stat({ bigint: true }) }, file);
    } finally {
      await file.close();
    }
  }

  async #content(found: Found, file: FileHandle): Promise<void> {
    const size = Number(found.stats.size);
    if (size === 0) return this.#empty(found, { type: 'file' });
    const entry = this.#archive.add({ ...this.#header(found), type: 'file', size }).getWriter();
    let left = size;
    // As much as the header says, though the file grow meanwhile.
    while (left > 0) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(Math.min(left, CHUNK_BYTES)));
      if (bytesRead === 0) throw new CopyError(`${found.path} lost ${left} bytes while it was copied`);
      await entry.write(buffer.subarray(0, bytesRead));
      left -= bytesRead;
      this.#options.onBytes?.(bytesRead);
    }
    await entry.close();
  }

  #empty(found: Found, what: Pick<TarHeader, 'type' | 'linkname'>): Promise<void> {
    return this.#archive.add({ ...this.#header(found), ...what }).close();
  }

  #header({ name, stats }: Found): TarHeader {
    const { keepOwner = false } = this.#options;
    const rest = String(stats.mtimeNs % SECOND_NS).padStart(9, '0');
    return {
      name,
      size: 0,
      mode: Number(stats.mode & PERMISSIONS),
      mtime: new Date(Math.max(0, Number(stats.mtimeMs))),
      ...(keepOwner ? { uid: Number(stats.uid), gid: Number(stats.gid) } : { uid: 0, gid: 0 }),
      // The header itself has whole seconds.
      ...(stats.mtimeNs >= 0n ? { pax: { mtime: `${stats.mtimeNs / SECOND_NS}.${rest}` } } : {}),
    };
  }
}

function unlessGone(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

import { constants } from 'node:fs';
import { chmod, lstat, mkdir, open, readdir, readlink, rename, rm, stat, statfs } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { userInfo } from 'node:os';
import { basename, join } from 'node:path';
import { ImageRefused } from '../../ports/images.ts';
import type { CopyProgress, ImageFault, ImageStore, StoredImage } from '../../ports/images.ts';
import { copySparse } from './copy-sparse.ts';
import { readSuperblock } from './ext4.ts';

const MIB = 1024 * 1024;
const SUFFIX = '.ext4';
const DRAFT_SUFFIX = '.part';

/** Images as read-only files `<id>.ext4` in one directory; the time of the last write is when an image was registered. */
export class LocalImages implements ImageStore {
  readonly imagesDir: string;

  constructor(imagesDir: string) {
    this.imagesDir = imagesDir;
  }

  async load(): Promise<readonly StoredImage[]> {
    await mkdir(this.imagesDir, { recursive: true, mode: 0o700 });
    const names = (await readdir(this.imagesDir)).sort();
    for (const name of names.filter((each) => each.endsWith(DRAFT_SUFFIX)))
      await rm(join(this.imagesDir, name));
    return Promise.all(
      names.filter((name) => name.endsWith(SUFFIX)).map((name) => this.#describe(basename(name, SUFFIX))),
    );
  }

  async add(id: string, source: string, onProgress: CopyProgress, signal: AbortSignal): Promise<StoredImage> {
    signal.throwIfAborted();
    const refuse = (fault: ImageFault) => new ImageRefused(source, fault);
    await using file = await openSource(source);
    const before = await file.stat();
    const fault = await ext4Fault(file, before.size);
    if (fault !== undefined) throw refuse({ kind: 'not_ext4', reason: fault });
    const noRoom = await this.#lacksRoom(before.dev, before.blocks * 512);
    if (noRoom !== undefined) throw refuse(noRoom);

    const draft = this.#path(id) + DRAFT_SUFFIX;
    try {
      await copySparse(file, draft, onProgress, signal);
      const changed = changeFault(before, await file.stat(), await stat(draft));
      if (changed !== undefined) throw refuse(changed);
      await makeDurable(draft);
      await rename(draft, this.#path(id));
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
    return await this.#describe(id);
  }

  async remove(id: string): Promise<void> {
    await rm(this.#path(id), { force: true });
  }

  /** What the copy lacks; a copy on the source's own file system may share all of it. */
  async #lacksRoom(sourceDevice: number, needBytes: number): Promise<ImageFault | undefined> {
    const { dev } = await stat(this.imagesDir);
    if (dev === sourceDevice) return undefined;
    const { bavail, bsize } = await statfs(this.imagesDir);
    const freeBytes = bavail * bsize;
    return needBytes > freeBytes ? { kind: 'no_room', needBytes, freeBytes } : undefined;
  }

  async #describe(id: string): Promise<StoredImage> {
    const path = this.#path(id);
    const { size, mtimeMs } = await stat(path);
    return { id, path, sizeMib: Math.ceil(size / MIB), createdAtUnix: Math.floor(mtimeMs / 1000) };
  }

  #path(id: string): string {
    return join(this.imagesDir, id + SUFFIX);
  }
}

/** Opens a regular file, as nothing else: a link may lead elsewhere, and a FIFO would be waited for. */
async function openSource(source: string): Promise<FileHandle> {
  const refuse = (fault: ImageFault) => new ImageRefused(source, fault);
  try {
    const fault = await typeFault(source, await lstat(source));
    if (fault !== undefined) throw refuse(fault);
    // The flags hold for what took the file's place since.
    const file = await open(source, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const opened = await typeFault(source, await file.stat());
    if (opened === undefined) return file;
    await file.close();
    throw refuse(opened);
  } catch (error) {
    switch ((error as NodeJS.ErrnoException).code) {
      case 'ENOENT':
      case 'ENOTDIR':
        throw refuse({ kind: 'missing' });
      case 'EACCES':
      case 'EPERM':
        throw refuse({ kind: 'closed', user: userInfo().username });
      default:
        throw error;
    }
  }
}

async function typeFault(source: string, stats: Stats): Promise<ImageFault | undefined> {
  if (stats.isFile()) return undefined;
  if (stats.isSymbolicLink()) return { kind: 'link', target: await readlink(source) };
  return { kind: 'not_file', type: typeOf(stats) };
}

/** A file that was written to while it was copied is in its copy as it never was, even where that has as many bytes. */
function changeFault(before: Stats, after: Stats, copy: Stats): ImageFault | undefined {
  const isSame = after.mtimeMs === before.mtimeMs && after.size === before.size;
  if (isSame && copy.size === before.size) return undefined;
  return { kind: 'changed', hadBytes: before.size, hasBytes: after.size, writtenAt: after.mtime };
}

function typeOf(stats: Stats): string {
  if (stats.isDirectory()) return 'a directory';
  if (stats.isFIFO()) return 'a FIFO';
  if (stats.isSocket()) return 'a socket';
  if (stats.isBlockDevice()) return 'a block device';
  return 'a character device';
}

async function ext4Fault(file: FileHandle, size: number): Promise<string | undefined> {
  const superblock = await readSuperblock(file);
  if (superblock === undefined) return 'it has no ext4 superblock';
  if (superblock.bytes <= size) return undefined;
  return `it is cut off, ${size} bytes of a file system of ${superblock.bytes}`;
}

async function makeDurable(path: string): Promise<void> {
  await using file = await open(path, 'r+');
  await file.utimes(new Date(), new Date());
  await file.sync();
  await chmod(path, 0o400);
}

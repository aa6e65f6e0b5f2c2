import { constants } from 'node:fs';
import { chmod, link, lchown, lstat, lutimes, mkdir, open, symlink, unlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { CopyError } from '../errors.ts';
import type { EntryHeader, TreeEntry, TreeOptions } from './tree.ts';

const PLAIN_BITS = 0o777;
const ALL_BITS = 0o7777;
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * A folder of this machine that an archive is unpacked into. The archive comes from a sandbox, and so from anyone: nothing is written
 * outside the folder, and nothing by way of a link, be it the archive's or one that was there.
 */
export class FolderTarget {
  readonly #root: string;
  readonly #options: TreeOptions;
  /** Folders that were seen to be folders. */
  readonly #folders = new Set<string>(['']);
  /** What folders are to have once nothing more is written into them. */
  readonly #pending: { readonly path: string; readonly header: EntryHeader }[] = [];

  /** @param root a folder that is there. */
  constructor(root: string, options: TreeOptions) {
    this.#root = root;
    this.#options = options;
  }

  /** Unpacks one entry, and reads its content to the end. */
  async add({ header, body }: TreeEntry): Promise<void> {
    const name = cleanName(header.name);
    const path = join(this.#root, name);
    if (header.type === 'file') await this.#file(name, path, header, body);
    else {
      await body.cancel();
      await this.#empty(name, path, header);
    }
  }

  /** Gives the folders their modes and times, the innermost first; to be called once everything is in. */
  async finish(): Promise<void> {
    for (const { path, header } of this.#pending.reverse()) {
      await this.#own(path, header);
      await chmod(path, this.#bits(header, 0o755));
      await utimes(path, new Date(), timeOf(header));
    }
  }

  async #empty(name: string, path: string, header: EntryHeader): Promise<void> {
    if (header.type === 'directory') {
      await this.#folder(name, path, header);
    } else if (header.type === 'symlink') {
      await this.#enter(parentOf(assertNamed(name)));
      await replacing(path, () => symlink(header.linkname ?? '', path));
      await this.#own(path, header);
      await lutimes(path, new Date(), timeOf(header));
    } else if (header.type === 'link') {
      await this.#enter(parentOf(assertNamed(name)));
      await this.#link(path, header);
    } else {
      this.#options.onSkipped?.(path);
    }
  }

  async #folder(name: string, path: string, header: EntryHeader): Promise<void> {
    await this.#enter(parentOf(name));
    if (name !== '' && !(await makeFolder(path, 0o700))) await assertFolder(path);
    this.#folders.add(name);
    this.#pending.push({ path, header });
  }

  async #file(
    name: string,
    path: string,
    header: EntryHeader,
    content: ReadableStream<Uint8Array>,
  ): Promise<void> {
    await this.#enter(parentOf(assertNamed(name)));
    const file = await replacing(path, () => open(path, NEW_FILE, 0o600));
    try {
      for await (const chunk of content) {
        await file.write(chunk);
        this.#options.onBytes?.(chunk.length);
      }
      await this.#own(path, header);
      await file.chmod(this.#bits(header, 0o644));
      await file.utimes(new Date(), timeOf(header));
    } finally {
      await file.close();
    }
  }

  async #link(path: string, { name, linkname = '' }: EntryHeader): Promise<void> {
    const target = cleanName(linkname);
    await this.#enter(parentOf(target));
    const from = join(this.#root, target);
    if (target === '' || !(await lstat(from)).isFile())
      throw new CopyError(`the sandbox sent ${name} as a link to ${linkname}, which is no file`);
    await replacing(path, () => link(from, path));
  }

  /** Makes sure of the folder of an entry, one step after the other: none of them may be a link. */
  async #enter(name: string): Promise<void> {
    if (this.#folders.has(name)) return;
    await this.#enter(parentOf(name));
    const path = join(this.#root, name);
    if (!(await makeFolder(path, 0o755))) await assertFolder(path);
    this.#folders.add(name);
  }

  async #own(path: string, { uid = 0, gid = 0 }: EntryHeader): Promise<void> {
    if (this.#options.keepOwner === true) await lchown(path, uid, gid);
  }

  #bits({ mode }: EntryHeader, otherwise: number): number {
    return (mode ?? otherwise) & (this.#options.keepOwner === true ? ALL_BITS : PLAIN_BITS);
  }
}

/** `a/b` of `./a/b/`. Throws for a name that leads out. */
function cleanName(name: string): string {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (name.startsWith('/') || parts.includes('..'))
    throw new CopyError(
      `the sandbox sent the name ${name}, which leads out of the folder: nothing more is copied`,
    );
  return parts.join('/');
}

function assertNamed(name: string): string {
  if (name === '') throw new CopyError('the sandbox sent an entry without a name');
  return name;
}

function parentOf(name: string): string {
  return name.slice(0, Math.max(0, name.lastIndexOf('/')));
}

/** Answers whether it was not there. */
async function makeFolder(path: string, mode: number): Promise<boolean> {
  try {
    await mkdir(path, mode);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

async function assertFolder(path: string): Promise<void> {
  const found = await lstat(path);
  if (!found.isDirectory())
    throw new CopyError(
      `${path} is ${found.isSymbolicLink() ? 'a link' : 'no folder'}, where the copy has a folder`,
    );
}

/** Makes something, once more after what had its name was removed. A folder is not. */
async function replacing<T>(path: string, make: () => Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  if ((await lstat(path)).isDirectory()) throw new CopyError(`${path} is a folder, where the copy has none`);
  await unlink(path);
  return make();
}

/** Seconds with their parts, which a Date has no room for. */
function timeOf({ pax, mtime }: EntryHeader): number | Date {
  const exact = Number(pax?.['mtime']);
  return Number.isFinite(exact) ? exact : (mtime ?? new Date());
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

import { posix } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { GuestError } from '../ports/agent.ts';
import type { FileEntry, FileStream } from '../ports/agent.ts';
import { packed, unpacked } from './fake-archive.ts';
import type { Node } from './fake-archive.ts';

const MESSAGES: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  EEXIST: 'file exists',
  EISDIR: 'is a directory',
  ENOTDIR: 'not a directory',
  EINVAL: 'invalid argument',
  ENODEV: 'no such device',
};

/** The file operations of an agent, on a file system in a map of absolute paths. */
export abstract class FakeFiles {
  readonly #nodes = new Map<string, Node>([
    ['/', dir()],
    ['/tmp', dir()],
  ]);

  /** Does what was asked for, unless nobody is there to do it. */
  protected abstract answer<T>(work: () => T): Promise<T>;

  readFile(path: string): Promise<FileStream> {
    return this.answer(() => {
      const { content } = this.#file('open', path);
      return { size: content.length, body: Readable.from([content], { objectMode: false }) };
    });
  }

  async writeFile(
    path: string,
    content: Readable | Uint8Array,
    _signal: AbortSignal,
    mode = 0o644,
  ): Promise<void> {
    const bytes = content instanceof Readable ? await buffer(content) : Buffer.from(content);
    await this.answer(() => {
      const at = this.#parented('open', path);
      if (this.#nodes.get(at)?.type === 'dir') throw refusal('EISDIR', 'open', path);
      this.#nodes.set(at, { type: 'file', content: bytes, mode: this.#nodes.get(at)?.mode ?? mode });
    });
  }

  chmod(path: string, mode: number): Promise<void> {
    return this.answer(() => {
      this.#node('chmod', path).mode = mode;
    });
  }

  chown(path: string): Promise<void> {
    return this.answer(() => {
      this.#node('chown', path);
    });
  }

  mkdir(path: string, parents: boolean): Promise<void> {
    return this.answer(() => {
      if (parents) {
        const parts = absolute(path).split('/').filter(Boolean);
        parts.forEach((_, index) => {
          const at = `/${parts.slice(0, index + 1).join('/')}`;
          if (!this.#nodes.has(at)) this.#nodes.set(at, dir());
        });
        return;
      }
      const at = this.#parented('mkdir', path);
      if (this.#nodes.has(at)) throw refusal('EEXIST', 'mkdir', path);
      this.#nodes.set(at, dir());
    });
  }

  rename(from: string, to: string): Promise<void> {
    return this.answer(() => {
      const node = this.#node('rename', from);
      this.#nodes.set(this.#parented('rename', to), node);
      this.#nodes.delete(absolute(from));
    });
  }

  copy(from: string, to: string): Promise<void> {
    return this.answer(() => {
      const node = this.#node('copy', from);
      this.#nodes.set(this.#parented('copy', to), { ...node });
    });
  }

  symlink(target: string, linkPath: string): Promise<void> {
    return this.answer(() => {
      const at = this.#parented('symlink', linkPath);
      if (this.#nodes.has(at)) throw refusal('EEXIST', 'symlink', linkPath);
      this.#nodes.set(at, { type: 'symlink', content: Buffer.from(target), mode: 0o777 });
    });
  }

  readlink(path: string): Promise<string> {
    return this.answer(() => {
      const node = this.#nodes.get(absolute(path));
      if (node === undefined) throw refusal('ENOENT', 'readlink', path);
      if (node.type !== 'symlink') throw refusal('EINVAL', 'readlink', path);
      return node.content.toString();
    });
  }

  truncate(path: string, size: number): Promise<void> {
    return this.answer(() => {
      const node = this.#file('truncate', path);
      node.content = Buffer.concat([
        node.content.subarray(0, size),
        Buffer.alloc(Math.max(0, size - node.content.length)),
      ]);
    });
  }

  listDir(path: string): Promise<readonly FileEntry[]> {
    return this.answer(() => {
      if (this.#node('open', path).type !== 'dir') throw refusal('ENOTDIR', 'open', path);
      const at = absolute(path);
      return [...this.#nodes]
        .filter(([each]) => each !== '/' && posix.dirname(each) === at)
        .map(([each, node]) => entryOf(posix.basename(each), node))
        .sort((a, b) => (a.name < b.name ? -1 : 1));
    });
  }

  readArchive(path: string): Promise<FileStream> {
    return this.answer(() => {
      const at = absolute(path);
      const node = this.#node('stat', path);
      if (node.type !== 'dir') return packed([[`./${posix.basename(at)}`, node]]);
      const within = [...this.#nodes].filter(([each]) => each.startsWith(`${at}/`));
      return packed([
        ['./', node],
        ...within.map(([each, it]) => [`.${each.slice(at.length)}`, it] as const),
      ]);
    });
  }

  async writeArchive(path: string, archive: Readable): Promise<void> {
    const entries = await unpacked(archive);
    await this.mkdir(path, true);
    await this.answer(() => {
      for (const [name, node] of entries) this.#nodes.set(absolute(posix.join(path, name)), node);
    });
  }

  /** The node of a path, its last link followed. */
  #node(action: string, path: string): Node {
    const node = this.#nodes.get(absolute(path));
    if (node === undefined) throw refusal('ENOENT', action, path);
    return node.type === 'symlink' ? this.#node(action, node.content.toString()) : node;
  }

  #file(action: string, path: string): Node {
    const node = this.#node(action, path);
    if (node.type === 'dir') throw refusal('EISDIR', action, path);
    return node;
  }

  #parented(action: string, path: string): string {
    const at = absolute(path);
    const parent = this.#nodes.get(posix.dirname(at));
    if (parent === undefined) throw refusal('ENOENT', action, path);
    if (parent.type !== 'dir') throw refusal('ENOTDIR', action, path);
    return at;
  }
}

function dir(): Node {
  return { type: 'dir', content: Buffer.alloc(0), mode: 0o755 };
}

function absolute(path: string): string {
  return posix.resolve('/', path);
}

export function refusal(errno: string, action: string, path: string): GuestError {
  return new GuestError(errno, `${action} ${path}: ${MESSAGES[errno] ?? errno}`);
}

function entryOf(name: string, { type, content, mode }: Node): FileEntry {
  const size = type === 'dir' ? 4096 : content.length;
  return { name, type, is_dir: type === 'dir', is_symlink: type === 'symlink', size, mode, mtime_unix: 0 };
}

import type { Atoll, Content, RawRequest } from './atoll.ts';
import type { CallOptions } from './deadline.ts';
import { ApiError, AtollError } from './errors.ts';
import type { DirEntry } from './generated/api.ts';
import { hasLocal, local } from './platform.ts';
import { fill } from './routes.ts';

export type { DirEntry } from './generated/api.ts';

/** What a file can be written from. */
export type FileContent =
  | string
  | Uint8Array<ArrayBuffer>
  | ArrayBuffer
  | Blob
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>;

/**
 * Files of one sandbox. A path is absolute, or relative to `/`. What the guest's file system refuses is an InvalidRequestError with
 * the errno in `code`, such as `ENOENT`. Reading and writing take as long as they take, unless `timeoutMs` says otherwise.
 */
export class Files {
  readonly #atoll: Atoll;
  readonly #sandbox: string;

  /** @internal */
  constructor(atoll: Atoll, sandbox: string) {
    this.#atoll = atoll;
    this.#sandbox = sandbox;
  }

  async read(path: string, options: CallOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    return (await this.#raw('GET', 'files', path, options)).bytes();
  }

  /** A file as UTF-8 text. */
  async readText(path: string, options: CallOptions = {}): Promise<string> {
    return (await this.#raw('GET', 'files', path, options)).text();
  }

  /** A file as it comes; the deadline holds until its end. */
  async readStream(
    path: string,
    options: CallOptions = {},
  ): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    return (await this.#raw('GET', 'files', path, options)).stream();
  }

  /** A file as base64, as the daemon answers it. */
  async readBase64(path: string, options: CallOptions = {}): Promise<string> {
    const request = { params: { id: this.#sandbox }, body: { path }, ...options };
    return (await this.#atoll.call('post', '/sandboxes/{id}/read-file', request)).content_base64;
  }

  /** Makes a file, or replaces its content. Streams are sent as they come, but for browsers, which hold them whole first. */
  async write(path: string, content: FileContent, options: CallOptions = {}): Promise<void> {
    const body = await bodyOf(content);
    await (await this.#raw('PUT', 'files', path, { ...options, body })).text();
  }

  /** As `write`, from base64. */
  async writeBase64(path: string, content_base64: string, options: CallOptions = {}): Promise<void> {
    const request = { params: { id: this.#sandbox }, body: { path, content_base64 }, ...options };
    await this.#atoll.call('post', '/sandboxes/{id}/write-file', request);
  }

  /** The entries of a directory, by name. */
  async list(path: string, options: CallOptions = {}): Promise<DirEntry[]> {
    const request = { params: { id: this.#sandbox }, body: { path }, ...options };
    return (await this.#atoll.call('post', '/sandboxes/{id}/list-dir', request)).entries;
  }

  /** Makes a directory; `parents` makes those above it too, and accepts one that exists. */
  async mkdir(
    path: string,
    options: CallOptions & { readonly parents?: boolean | undefined } = {},
  ): Promise<void> {
    const { parents = false, ...call } = options;
    const request = { params: { id: this.#sandbox }, body: { path, parents }, ...call };
    await this.#atoll.call('post', '/sandboxes/{id}/mkdir', request);
  }

  async rename(from: string, to: string, options: CallOptions = {}): Promise<void> {
    const request = { params: { id: this.#sandbox }, body: { from, to }, ...options };
    await this.#atoll.call('post', '/sandboxes/{id}/rename', request);
  }

  /** Copies a file, or a directory with all that is in it. */
  async copy(from: string, to: string, options: CallOptions = {}): Promise<void> {
    const request = { params: { id: this.#sandbox }, body: { from, to }, ...options };
    await this.#atoll.call('post', '/sandboxes/{id}/copy', request);
  }

  async symlink(target: string, link_path: string, options: CallOptions = {}): Promise<void> {
    const request = { params: { id: this.#sandbox }, body: { target, link_path }, ...options };
    await this.#atoll.call('post', '/sandboxes/{id}/symlink', request);
  }

  /** Where a symbolic link leads. */
  async readlink(path: string, options: CallOptions = {}): Promise<string> {
    const request = { params: { id: this.#sandbox }, body: { path }, ...options };
    return (await this.#atoll.call('post', '/sandboxes/{id}/readlink', request)).target;
  }

  /** Sets the size of a file, in bytes. */
  async truncate(path: string, size: number, options: CallOptions = {}): Promise<void> {
    const request = { params: { id: this.#sandbox }, body: { path, size }, ...options };
    await this.#atoll.call('post', '/sandboxes/{id}/truncate', request);
  }

  /** Sets the permission bits, such as 0o644. */
  async chmod(path: string, mode: number, options: CallOptions = {}): Promise<void> {
    const request = { params: { id: this.#sandbox }, body: { path, mode }, ...options };
    await this.#atoll.call('post', '/sandboxes/{id}/chmod', request);
  }

  async chown(path: string, uid: number, gid: number, options: CallOptions = {}): Promise<void> {
    const request = { params: { id: this.#sandbox }, body: { path, uid, gid }, ...options };
    await this.#atoll.call('post', '/sandboxes/{id}/chown', request);
  }

  /** Removes a file, or a directory with all that is in it. What is not there is no error. */
  async remove(path: string, options: CallOptions = {}): Promise<void> {
    const request = {
      params: { id: this.#sandbox },
      body: { command: 'rm', args: ['-rf', '--', path], cwd: '/' },
      ...options,
    };
    const { exit_code, stderr } = await this.#atoll.call('post', '/sandboxes/{id}/exec', request);
    if (exit_code !== 0) throw new AtollError(`remove ${path}: ${stderr.trim()}`);
  }

  /**
   * Brings a file or folder of this machine into the sandbox, with its mode; of a folder its content into the folder `path`, which
   * is made if it is not there, with links, modes and times. Not in browsers.
   */
  async upload(localPath: string, path: string, options: CallOptions = {}): Promise<void> {
    const { openSource } = await local('files.upload');
    const { isFolder, mode, body } = await openSource(localPath);
    await (await this.#raw('PUT', isFolder ? 'archive' : 'files', path, { ...options, body })).text();
    if (!isFolder) await this.chmod(path, mode, options);
  }

  /**
   * The other way of `upload`: a file becomes `localPath`, the content of a folder comes into the folder `localPath`. Nothing is
   * written outside of it, whatever the sandbox sends.
   */
  async download(path: string, localPath: string, options: CallOptions = {}): Promise<void> {
    const { saveFile, unpackFolder } = await local('files.download');
    const isFolder = await this.#isFolder(path, options);
    if (isFolder) {
      await unpackFolder((await this.#raw('GET', 'archive', path, options)).stream(), localPath);
      return;
    }
    const mode = await this.#modeOf(path, options);
    await saveFile((await this.#raw('GET', 'files', path, options)).stream(), localPath, mode);
  }

  async #isFolder(path: string, options: CallOptions): Promise<boolean> {
    try {
      await this.list(path, options);
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.code === 'ENOTDIR') return false;
      throw error;
    }
  }

  /** Permission bits of a file; those of a file that a link leads to are not asked for. */
  async #modeOf(path: string, options: CallOptions): Promise<number | undefined> {
    const [, folder = '', name = ''] = /^(.*?)([^/]+)\/*$/.exec(path) ?? [];
    const entries = await this.list(folder === '' ? '/' : folder, options);
    const entry = entries.find((each) => each.name === name);
    return entry?.type === 'file' ? entry.mode : undefined;
  }

  #raw(method: string, route: 'files' | 'archive', path: string, request: RawRequest) {
    return this.#atoll.open(
      method,
      fill(`/sandboxes/{id}/${route}`, { id: this.#sandbox }, { path }),
      request,
    );
  }
}

async function bodyOf(content: FileContent): Promise<Content> {
  const isStream = content instanceof ReadableStream;
  if (!isStream && !(typeof content === 'object' && Symbol.asyncIterator in content)) return content;
  const stream = isStream ? content : streamOf(content);
  // Browsers send streams over HTTP/2 alone.
  return hasLocal() ? stream : new Response(stream).blob();
}

function streamOf(pieces: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const next = await iterator.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
    cancel: async () => {
      await iterator.return?.();
    },
  });
}

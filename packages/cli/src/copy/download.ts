import { randomBytes } from 'node:crypto';
import { lstat, mkdir, rename, rm, stat } from 'node:fs/promises';
import { posix } from 'node:path';
import type { Sandbox } from '@atoll/sdk';
import { FolderTarget, readTar } from '@atoll/sdk/trees';
import type { EntryHeader, TreeEntry, TreeOptions } from '@atoll/sdk/trees';
import type { Call } from '../call.ts';
import { CommandError } from '../errors.ts';
import { writeAll } from '../output/write-all.ts';
import { archivePath, filePath } from './archive-path.ts';
import type { CopyOptions } from './copy-options.ts';
import { besides, targetOf } from './place.ts';
import type { Standing, Target } from './place.ts';
import type { Progress } from './progress.ts';

/** Copies a file or folder of a sandbox to this machine. Answers where it is. */
export async function download(
  { client, signal }: Call<CopyOptions>,
  sandbox: Sandbox,
  from: string,
  to: string,
  progress: Progress,
  tree: TreeOptions,
): Promise<string> {
  const standing = await standingOf(to);
  const body = (await client.open('GET', archivePath(sandbox.id, from), { signal })).stream();
  let arrival: Arrival | undefined;
  try {
    await readTar(body, async (entry) => {
      if (arrival === undefined) {
        const isFolder = entry.header.type === 'directory';
        if (isFolder) measureRemote(sandbox, from, progress);
        else progress.total = entry.header.size;
        arrival = await Arrival.at(targetOf(from, isFolder, to, standing), isFolder, tree);
      }
      await arrival.add(entry);
    });
    if (arrival === undefined) throw new CommandError(`the sandbox sent nothing for ${from}`);
    return await arrival.finish();
  } catch (error) {
    await arrival?.remove();
    throw error;
  }
}

/** A file of a sandbox on stdout. */
export async function downloadToStdout(
  { client, signal, context }: Call<CopyOptions>,
  sandbox: Sandbox,
  from: string,
): Promise<void> {
  const body = (await client.open('GET', filePath(sandbox.id, from), { signal })).stream();
  for await (const chunk of body) await writeAll(context.stdout, chunk);
}

/** What comes from a sandbox, until it is whole: it gets its name at the end. What is added to a folder that is there cannot wait. */
class Arrival {
  readonly #path: string;
  /** Its name until then; undefined for what is added to a folder. */
  readonly #temporary: string | undefined;
  /** The name that a single file has in its folder until then. */
  readonly #fileName: string | undefined;
  readonly #folder: FolderTarget;

  private constructor(
    path: string,
    temporary: string | undefined,
    fileName: string | undefined,
    folder: FolderTarget,
  ) {
    this.#path = path;
    this.#temporary = temporary;
    this.#fileName = fileName;
    this.#folder = folder;
  }

  static async at({ path }: Target, isFolder: boolean, tree: TreeOptions): Promise<Arrival> {
    const isMerge = isFolder && (await standingOf(path)) === 'folder';
    const temporary = besides(path, randomBytes(4).toString('hex'));
    const root = isMerge ? path : isFolder ? temporary : posix.dirname(temporary);
    await mkdir(root, { recursive: true });
    return new Arrival(
      path,
      isMerge ? undefined : temporary,
      isFolder ? undefined : posix.basename(temporary),
      new FolderTarget(root, tree),
    );
  }

  async add({ header, body }: TreeEntry): Promise<void> {
    const named: EntryHeader = this.#fileName === undefined ? header : { ...header, name: this.#fileName };
    await this.#folder.add({ header: named, body });
  }

  /** Answers where it is. */
  async finish(): Promise<string> {
    await this.#folder.finish();
    if (this.#temporary !== undefined) await rename(this.#temporary, this.#path);
    return this.#path;
  }

  /** Removes what there is of it, but for what was added to a folder. */
  async remove(): Promise<void> {
    if (this.#temporary !== undefined) await rm(this.#temporary, { recursive: true, force: true });
  }
}

/** What stands at a path of this machine. */
async function standingOf(path: string): Promise<Standing> {
  try {
    return (await stat(path)).isDirectory() ? 'folder' : 'file';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    // A link that leads nowhere is replaced.
    return (await lstat(path).catch(() => undefined)) === undefined ? 'nothing' : 'file';
  }
}

/** How much there is to come, where the image has a du that says so. Not waited for. */
function measureRemote(sandbox: Sandbox, path: string, progress: Progress): void {
  if (!progress.isShown) return;
  sandbox.exec('du', ['-sb', '--', path], { timeout_ms: 10_000 }).then(
    ({ exit_code, stdout }) => {
      if (exit_code === 0 && Number.parseInt(stdout) > 0) progress.total = Number.parseInt(stdout);
    },
    () => undefined,
  );
}

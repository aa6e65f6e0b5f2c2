import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { packTree } from './pack.ts';

/** Something of this machine on its way into a sandbox: a file's bytes, or a folder's content as a tar. */
export interface Source {
  readonly isFolder: boolean;
  /** Permission bits. */
  readonly mode: number;
  readonly body: ReadableStream<Uint8Array>;
}

const PERMISSIONS = 0o7777;

/** Rejects with the system's error when there is no such file. */
export async function openSource(path: string): Promise<Source> {
  const found = await stat(path);
  const isFolder = found.isDirectory();
  return {
    isFolder,
    mode: found.mode & PERMISSIONS,
    body: isFolder ? packTree(path) : (Readable.toWeb(createReadStream(path)) as ReadableStream<Uint8Array>),
  };
}

/** Writes a file. One that is there stays as it is until the new one is whole; a device or FIFO takes the bytes as they come. */
export async function saveFile(
  content: ReadableStream<Uint8Array>,
  path: string,
  mode: number | undefined,
): Promise<void> {
  if (await takesBytes(path)) return pipeline(Readable.from(content), createWriteStream(path));
  const draft = join(dirname(path), `.atoll-${randomUUID()}.part`);
  try {
    await pipeline(Readable.from(content), createWriteStream(draft, { flags: 'wx' }));
    if (mode !== undefined) await chmod(draft, mode);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

async function takesBytes(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && !found.isFile() && !found.isDirectory();
}

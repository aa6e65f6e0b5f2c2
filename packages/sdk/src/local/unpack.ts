import { mkdir } from 'node:fs/promises';
import { createTarDecoder } from 'modern-tar';
import { FolderTarget } from './folder-target.ts';
import type { TreeEntry, TreeOptions } from './tree.ts';

/** Unpacks a tar into a folder, which is made if it is not there. Nothing is written outside of it. */
export async function unpackFolder(
  content: ReadableStream<Uint8Array>,
  root: string,
  options: TreeOptions = {},
): Promise<void> {
  await mkdir(root, { recursive: true });
  const target = new FolderTarget(root, options);
  await readTar(content, (entry) => target.add(entry));
  await target.finish();
}

/** Hands out the entries of a tar, one after the other; the content of each is to be read to its end, or cancelled. */
export async function readTar(
  content: ReadableStream<Uint8Array>,
  take: (entry: TreeEntry) => Promise<void>,
): Promise<void> {
  const decoder = createTarDecoder({ strict: true });
  const stop = new AbortController();
  let broken: unknown;
  const fed = content.pipeTo(decoder.writable, { signal: stop.signal });
  fed.catch((error: unknown) => (broken = error));
  try {
    for await (const entry of decoder.readable) await take(entry);
  } catch (error) {
    // What broke the content off says more than how the archive then ends.
    await new Promise((resolve) => setTimeout(resolve));
    const reason = broken ?? error;
    stop.abort();
    throw reason;
  }
  await fed;
}

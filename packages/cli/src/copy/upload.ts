import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { posix } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '@atoll/sdk';
import type { Sandbox } from '@atoll/sdk';
import { measureTree, packTree } from '@atoll/sdk/trees';
import type { TreeOptions } from '@atoll/sdk/trees';
import type { Call } from '../call.ts';
import { CommandError } from '../errors.ts';
import { archivePath } from './archive-path.ts';
import type { CopyOptions } from './copy-options.ts';
import { besides, targetOf } from './place.ts';
import type { Standing } from './place.ts';
import type { Progress } from './progress.ts';

const CLEANUP_MS = 30_000;
const CLEANUP_ATTEMPTS = 5;
const CLEANUP_PAUSE_MS = 200;

/** Copies a file or folder of this machine into a sandbox. Answers where it is. */
export async function upload(
  call: Call<CopyOptions>,
  sandbox: Sandbox,
  from: string,
  to: string,
  progress: Progress,
  tree: TreeOptions,
): Promise<string> {
  const isFolder = await assertCopyable(from);
  if (progress.isShown) progress.total = await measureTree(from);
  const standing = await standingOf(sandbox, to, call.signal);
  const target = targetOf(from, isFolder, to, standing).path;
  const isMerge = isFolder && (await standingOf(sandbox, target, call.signal)) === 'folder';
  const temporary = besides(target, randomBytes(4).toString('hex'));
  // A folder's archive is unpacked at its path; a file's one entry beside it.
  const place = isMerge ? target : isFolder ? temporary : posix.dirname(temporary);
  const name = isFolder ? undefined : `./${posix.basename(temporary)}`;
  const sent = () => send(call, sandbox, place, packTree(from, name, tree));
  if (isMerge) await sent();
  else await whole(call, sandbox, temporary, target, sent);
  return target;
}

/** Stdin as a file of a sandbox. */
export async function uploadStdin(
  call: Call<CopyOptions>,
  sandbox: Sandbox,
  to: string,
  { onBytes }: TreeOptions,
): Promise<string> {
  const { context, signal } = call;
  const temporary = besides(to, randomBytes(4).toString('hex'));
  const counted = async function* () {
    for await (const chunk of context.stdin) {
      onBytes?.((chunk as Buffer).length);
      yield chunk as Uint8Array;
    }
  };
  await whole(call, sandbox, temporary, to, () => sandbox.files.write(temporary, counted(), { signal }));
  return to;
}

async function send(
  { client, signal }: Call<CopyOptions>,
  sandbox: Sandbox,
  place: string,
  tar: ReadableStream<Uint8Array>,
): Promise<void> {
  let own: unknown;
  const watched = async function* () {
    try {
      yield* tar;
    } catch (error) {
      own = error;
      throw error;
    }
  };
  const request = {
    ...{ signal, body: ReadableStream.from(watched()) },
    headers: { 'content-type': 'application/x-tar' },
  };
  try {
    await (await client.open('PUT', archivePath(sandbox.id, place), request)).text();
  } catch (error) {
    // What went wrong on this side says more than that the request was broken off.
    throw own ?? error;
  }
}

/** Whether something of this machine is a folder; a link is what it leads to. Rejects with the system's error when nothing is there. */
async function assertCopyable(path: string): Promise<boolean> {
  const found = await stat(path);
  if (!found.isFile() && !found.isDirectory())
    throw new CommandError(`${path} is neither a file nor a folder`);
  return found.isDirectory();
}

/** Has something made under a name of its own, which then takes the place of the target: whole, or not at all. */
async function whole(
  { signal }: Call<CopyOptions>,
  sandbox: Sandbox,
  temporary: string,
  target: string,
  make: () => Promise<void>,
): Promise<void> {
  try {
    await make();
    await sandbox.files.rename(temporary, target, { signal });
  } catch (error) {
    await removeRemains(sandbox, temporary).catch(() => undefined);
    throw error;
  }
}

/** Removes what there is of a copy. The guest may take a moment to let go of it. */
async function removeRemains(sandbox: Sandbox, path: string): Promise<void> {
  for (let attempt = 0; attempt < CLEANUP_ATTEMPTS; attempt++) {
    await sandbox.files.remove(path, { timeoutMs: CLEANUP_MS });
    await sleep(CLEANUP_PAUSE_MS);
    if ((await standingOf(sandbox, path)) === 'nothing') return;
  }
}

/** What stands at a path of a sandbox. */
async function standingOf(sandbox: Sandbox, path: string, signal?: AbortSignal): Promise<Standing> {
  try {
    await sandbox.files.list(path, { signal });
    return 'folder';
  } catch (error) {
    if (error instanceof ApiError && error.code === 'ENOTDIR') return 'file';
    if (error instanceof ApiError && error.code === 'ENOENT') return 'nothing';
    throw error;
  }
}

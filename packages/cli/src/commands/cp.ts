import { Sandbox } from '@atoll/sdk';
import type { TreeOptions } from '@atoll/sdk/trees';
import type { Command } from 'commander';
import { work } from '../call.ts';
import type { Call } from '../call.ts';
import type { Context } from '../context.ts';
import type { CopyOptions } from '../copy/copy-options.ts';
import { download, downloadToStdout } from '../copy/download.ts';
import { placeOf } from '../copy/place.ts';
import type { Place } from '../copy/place.ts';
import { Progress } from '../copy/progress.ts';
import { upload, uploadStdin } from '../copy/upload.ts';
import { UsageError } from '../errors.ts';
import { bytes } from '../output/text.ts';

export function cpCommand(parent: Command, context: Context): void {
  const command = parent
    .command('cp')
    .description('copy a file or folder into a sandbox or out of it, with links, modes and times')
    .argument('<from>', '<sandbox>:<path>, a path of this machine, or - for stdin')
    .argument('<to>', 'the other way round, or - for stdout')
    .option(
      '-a, --archive',
      "keep owners, as numbers, and setuid and setgid bits (else what is copied is root's inside, and yours here)",
    )
    .addHelpText(
      'after',
      '\nA folder that is there takes the copy under its own name; "<folder>/." stands for what the folder holds.\n' +
        'What is copied gets its name once it is whole. What is added to a folder that is there does not wait for that.',
    );
  work(command, context, cp, {
    interrupted: 'what had arrived was removed, but for what was added to a folder that was there',
  });
}

async function cp(call: Call<CopyOptions>, from: string, to: string): Promise<void> {
  const { out, context } = call;
  const [source, destination] = [placeOf(from), placeOf(to)];
  const began = performance.now();
  using progress = new Progress(
    context.stderr,
    from,
    !out.isJson && !out.isQuiet && destination.kind !== 'stream',
  );
  let skipped = 0;
  const tree: TreeOptions = {
    keepOwner: call.options.archive === true,
    onBytes: (count) => progress.add(count),
    onSkipped: () => (skipped += 1),
  };
  const path = await copy(call, source, destination, progress, tree);
  progress[Symbol.dispose]();
  if (path === undefined) return;
  if (skipped > 0) out.note(`atoll: ${skipped} left out: sockets, devices and pipes are not copied`);
  const ms = Math.round(performance.now() - began);
  if (out.isJson) out.json({ path, bytes: progress.done, ms });
  else if (context.stderr.isTTY) out.note(`${path}: ${bytes(progress.done)} in ${(ms / 1000).toFixed(1)} s`);
}

async function copy(
  call: Call<CopyOptions>,
  source: Place,
  destination: Place,
  progress: Progress,
  tree: TreeOptions,
): Promise<string | undefined> {
  const { client, signal } = call;
  if (source.kind === 'sandbox' && destination.kind !== 'sandbox') {
    const sandbox = await Sandbox.get(source.sandbox, { client, signal });
    if (destination.kind === 'local')
      return download(call, sandbox, source.path, destination.path, progress, tree);
    await downloadToStdout(call, sandbox, source.path);
    return undefined;
  }
  if (destination.kind === 'sandbox' && source.kind !== 'sandbox') {
    const sandbox = await Sandbox.get(destination.sandbox, { client, signal });
    if (source.kind === 'stream') return uploadStdin(call, sandbox, destination.path, tree);
    return upload(call, sandbox, source.path, destination.path, progress, tree);
  }
  throw new UsageError(
    'one of the two is in a sandbox, the other is not',
    'atoll cp ./file name:/root/file, or atoll cp name:/root/file ./file',
  );
}

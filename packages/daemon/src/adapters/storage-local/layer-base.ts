import { open, stat } from 'node:fs/promises';
import { basename, isAbsolute } from 'node:path';
import { readSuperblock } from './ext4.ts';
import type { LayerHeader } from '../../lib/qcow2.ts';

const SUFFIX = '.qcow2';
// Told by the name alone: the directory may be reached by another path than the one a layer was made under.
const LAYER = /^[0-9a-f-]{36}\.qcow2$/;

/** Id of the layer that one stands on; undefined: a base. Throws when it is neither, such as a URL. */
export function parentIn({ backing, backingFormat }: LayerHeader): string | undefined {
  const isLayer = LAYER.test(basename(backing));
  if (!isAbsolute(backing) || (backingFormat === 'qcow2') !== isLayer)
    throw new Error(`it stands on ${backing}, which is neither a layer nor a base`);
  return isLayer ? basename(backing, SUFFIX) : undefined;
}

/**
 * Rejects when QEMU would read something else under a layer than what it is to stand on: another file by a layer's name, or, for a base,
 * anything but an ext4 file system in a regular file.
 */
export async function assertStandsOn(
  { backing }: LayerHeader,
  parentPath: string | undefined,
): Promise<void> {
  await using file = await open(backing, 'r');
  const found = await file.stat();
  if (parentPath !== undefined) {
    const { dev, ino } = await stat(parentPath);
    if (found.dev !== dev || found.ino !== ino)
      throw new Error(`it stands on ${backing}, which is not ${parentPath}`);
  } else if (!found.isFile() || (await readSuperblock(file)) === undefined) {
    throw new Error(`it stands on ${backing}, which is no ext4 file system`);
  }
}

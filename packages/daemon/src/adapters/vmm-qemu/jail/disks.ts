import { chmod, open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { readLayerHeader } from '../../../lib/qcow2.ts';
import type { MachineSpec } from '../../../ports/vmm.ts';
import type { Binding } from './plan.ts';

const MIB = 1024n * 1024n;

// Of the longest chain of layers there is (storage-local/layers.ts) many times over.
const MAX_DEPTH = 64;

/** What a machine has of files, and the size of the largest it may write, in bytes. */
export interface MachineDisks {
  readonly bindings: readonly Binding[];
  readonly largest: bigint;
}

/**
 * The files of a machine. A jailed monitor is another user than the daemon, so each is made readable, or writable, for others. Others are
 * let in nowhere: the files lie in directories that are closed to all but the daemon, and a jail sees its own alone.
 */
export async function openDisks(spec: MachineSpec): Promise<MachineDisks> {
  const drives = spec.drives ?? [];
  await makeFile(spec.memory, spec.memSizeMib);
  const ownDrives = drives.filter(({ readOnly }) => !readOnly);
  const written = [spec.rootDisk, spec.memory, ...ownDrives.map(({ path }) => path)];
  const { size, under } = await chainUnder(spec.rootDisk);
  const read = [...under, ...drives.filter(({ readOnly }) => readOnly).map(({ path }) => path)];
  const sizes = await Promise.all(written.map(async (path) => (await stat(path, { bigint: true })).size));
  await Promise.all([
    ...written.map((path) => permit(path, 0o006)),
    ...read.map((path) => permit(path, 0o004)),
  ]);
  const bindings: Binding[] = [
    ...read.map((path) => ({ path, access: 'read' as const })),
    ...written.map((path) => ({ path, access: 'write' as const })),
  ];
  const largest = [...sizes, size, BigInt(spec.memSizeMib) * MIB].reduce((a, b) => (a > b ? a : b));
  return { bindings, largest };
}

/** Lets others do with a file what these bits say. One that is not the daemon's own has to allow it already. */
export async function permit(path: string, bits: number): Promise<void> {
  const { mode } = await stat(path);
  if ((mode & bits) !== bits) await chmod(path, (mode & 0o777) | bits);
}

/** The size of a qcow2 disk, and the paths of what it stands on, top first. */
async function chainUnder(disk: string): Promise<{ size: bigint; under: string[] }> {
  let layer = await readLayerHeader(disk);
  const { size } = layer;
  const under = [resolve(dirname(disk), layer.backing)];
  for (let path = under[0]; path !== undefined && layer.backingFormat === 'qcow2'; path = under.at(-1)) {
    if (under.length > MAX_DEPTH) throw new Error(`${disk} stands on more than ${MAX_DEPTH} layers`);
    layer = await readLayerHeader(path);
    under.push(resolve(dirname(path), layer.backing));
  }
  return { size, under };
}

async function makeFile(path: string, sizeMib: number): Promise<void> {
  await using file = await open(path, 'a', 0o600);
  if ((await file.stat()).size === 0) await file.truncate(sizeMib * 1024 * 1024);
}

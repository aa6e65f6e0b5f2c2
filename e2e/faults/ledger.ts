import { open, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Client } from '../harness/client.ts';
import type { Daemon } from '../harness/daemon.ts';
import { addressesWithPolicy, childrenOf, machineDirs, machineNames, stations } from '../harness/host.ts';
import { until } from '../harness/poll.ts';
import { listSandboxes } from '../harness/sandbox.ts';
import { listCheckpoints, listSnapshots } from '../harness/snapshot.ts';
import type { SnapshotItem } from '../harness/snapshot.ts';
import { listDrives } from '../storage/drives.ts';

// Releases that failed are tried again, some seconds apart.
const SETTLED_MS = 60_000;

/** Waits until what the daemon says there is equals what the host has, and rejects, naming what differs, when it does not. */
export async function assertBooksEqualHost(daemon: Daemon): Promise<void> {
  let differences: string[] = [];
  const isEqual = async () => (differences = await compare(daemon)).length === 0;
  await until('the books equal the host', isEqual, SETTLED_MS).catch((error: unknown) => {
    throw new Error(`${differences.join('\n')}\nits log:\n${daemon.log.tail()}`, { cause: error });
  });
}

async function compare(daemon: Daemon): Promise<string[]> {
  const { client, stateDir } = daemon;
  const sandboxes = (await listSandboxes(client)).map(({ id }) => id);
  const snapshots = await listSnapshots(client);
  const checkpoints = await listCheckpoints(client);
  const kept = [...snapshots, ...checkpoints].map(({ id }) => id);
  const snapshotsDir = join(stateDir, 'snapshots');
  const [policies, placed] = [await addressesWithPolicy(), await stations()];
  return [
    ...differ('VM processes', await machineNames(stateDir), sandboxes),
    ...differ('directories of machines', await machineDirs(stateDir), sandboxes),
    ...differ('rows of history that live', await liveRows(client), sandboxes),
    ...differ('directories of snapshots', await readdir(join(snapshotsDir, 'held')), kept),
    ...differ('damaged snapshots', await readdir(join(snapshotsDir, 'damaged')), []),
    ...differ('layers', await readdir(join(snapshotsDir, 'layers')), await neededLayers(daemon, kept)),
    ...differ(
      'drives',
      await driveFiles(stateDir),
      (await listDrives(client)).map(({ id }) => id),
    ),
    ...(await strayHolders(client, kept)),
    ...count('children', await childrenOf(daemon.pid), sandboxes.length),
    ...count('addresses with a policy', policies, sandboxes.length),
    // An entry of the bridge and one of the neighbours each.
    ...count('stations', placed, 2 * sandboxes.length),
    ...(await strayNames(client, snapshots)),
  ];
}

function differ(what: string, there: readonly string[], recorded: readonly string[]): string[] {
  const [actual, expected] = [there.toSorted(), recorded.toSorted()];
  if (JSON.stringify(actual) === JSON.stringify(expected)) return [];
  return [`${what}: there are ${actual.join(' ') || 'none'}; recorded are ${expected.join(' ') || 'none'}`];
}

function count(what: string, there: readonly unknown[], recorded: number): string[] {
  return there.length === recorded ? [] : [`${what}: ${recorded} recorded, there are ${there.join(', ')}`];
}

async function liveRows(client: Client): Promise<string[]> {
  const { json } = await client.call('GET', '/sandboxes/history?live_only=true&limit=1000');
  return (json as { history: { id: string }[] }).history.map(({ id }) => id);
}

/** The layers that snapshots are, and all that these and the machines' disks stand on. */
async function neededLayers({ stateDir }: Daemon, kept: readonly string[]): Promise<string[]> {
  const dir = join(stateDir, 'snapshots', 'layers');
  const disks = (await machineDirs(stateDir)).map((id) => join(stateDir, 'machines', id));
  const tops = await Promise.all(
    disks.map(async (machine) => {
      const file = (await readdir(machine).catch(() => [])).find((name) => name.endsWith('.qcow2'));
      return file === undefined ? [] : [join(machine, file)];
    }),
  );
  const needed = new Set<string>();
  const follow = async (path: string): Promise<void> => {
    if (path.startsWith(`${dir}/`)) needed.add(basename(path));
    const below = await backingOf(path).catch(() => undefined);
    if (below?.startsWith(`${dir}/`) === true) await follow(below);
  };
  for (const path of [...kept.map((id) => join(dir, `${id}.qcow2`)), ...tops.flat()]) await follow(path);
  return [...needed];
}

/** What a qcow2 file stands on: the name's place and length are at bytes 8 and 16 of its header. */
async function backingOf(path: string): Promise<string | undefined> {
  await using file = await open(path, 'r');
  const { buffer } = await file.read(Buffer.alloc(65_536), 0, 65_536, 0);
  const at = Number(buffer.readBigUInt64BE(8));
  return at === 0 ? undefined : buffer.toString('utf8', at, at + buffer.readUInt32BE(16));
}

/** Their names begin with the id, 36 characters. */
async function driveFiles(stateDir: string): Promise<string[]> {
  return (await readdir(join(stateDir, 'drives'))).map((name) => name.slice(0, 36));
}

/** Holders of drives that are nobody, and sandboxes that do not hold a drive they have. */
async function strayHolders(client: Client, kept: readonly string[]): Promise<string[]> {
  const [live, drives] = [await listSandboxes(client), await listDrives(client)];
  const known = [...live.map(({ id }) => `sandbox ${id}`), ...kept.map((id) => `snapshot ${id}`)];
  const holds = (drive: string, holder: string) =>
    drives.some(({ id, attached_to }) => id === drive && attached_to.some((each) => each.holder === holder));
  return [
    ...drives.flatMap(({ id, attached_to }) =>
      attached_to.flatMap(({ holder }) => (known.includes(holder) ? [] : [`drive ${id}: held by ${holder}`])),
    ),
    ...live.flatMap(({ id, drives: own }) =>
      own.flatMap((drive) =>
        holds(drive.id, `sandbox ${id}`) ? [] : [`drive ${drive.id}: not held by ${id}`],
      ),
    ),
  ];
}

/** Names that two have, and names by which nobody or somebody else is found. A fork goes by the name of its snapshot. */
async function strayNames(client: Client, snapshots: readonly SnapshotItem[]): Promise<string[]> {
  const unforked = snapshots.filter(({ forked_into }) => forked_into === null);
  const live = await listSandboxes(client);
  const named = [...live, ...unforked].filter(({ name }) => name !== null);
  const faults: string[] = [];
  for (const { id, name } of named) {
    const same = named.filter((each) => each.name === name);
    if (same.length > 1) faults.push(`the name ${name} is of ${same.map((each) => each.id).join(' and ')}`);
    const { status, text } = await client.call('GET', `/sandboxes/by-name/${name}`);
    const isFound = live.some((each) => each.id === id)
      ? status === 200 && text.includes(id)
      : status === 409;
    if (!isFound) faults.push(`by the name ${name} of ${id}: ${status} ${text}`);
  }
  return faults;
}

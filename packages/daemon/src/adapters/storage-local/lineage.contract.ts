import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { run } from '../../lib/run.ts';
import type { StoredSnapshot } from '../../ports/snapshots.ts';
import { readLayerHeader } from '../../lib/qcow2.ts';
import { LocalSnapshots } from './snapshots.ts';
import { LocalStorage } from './storage.ts';

const { signal } = new AbortController();
const DEEP = 20;
const LOOKS = 32;
const IDENTITY = { mac: '02:00:0a:d5:00:05', address: '10.213.0.5', prefixLength: 16, gateway: '10.213.0.1' };
const VMM = { monitor: 'm', accelerator: 'tcg', cpu: 'c', kernel: 'k' } as const;

let dir = '';
let base = '';
let storage: LocalStorage;
let snapshots: LocalSnapshots;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'atoll-lineage-'));
  base = join(dir, 'base.ext4');
  const head = Buffer.alloc(128 * 1024, 0xba);
  head.writeUInt16LE(0xef53, 1024 + 0x38); // What tells an ext4 file system.
  await writeFile(base, head);
  await truncate(base, 64 * 1024 * 1024);
  storage = await LocalStorage.open(dir, base, signal);
  snapshots = await open();
});
afterEach(async () => {
  await snapshots[Symbol.asyncDispose]();
  await rm(dir, { recursive: true });
});

function open(): Promise<LocalSnapshots> {
  return LocalSnapshots.open({
    snapshotsDir: join(dir, 'snapshots'),
    archiveDir: join(dir, 'archive'),
    machinesDir: storage.machinesDir,
    onFault: (id, error) => expect.unreachable(`layer ${id}: ${String(error)}`),
  });
}

/** Starts from a snapshot, or from the base, writes the generation's number into a place of its own, and becomes a snapshot. */
async function next(from: StoredSnapshot | undefined, generation: number): Promise<StoredSnapshot> {
  const id = randomUUID();
  const files = await (from === undefined
    ? storage.createMachine(id, signal)
    : snapshots.createMachine(id, from, signal));
  await qemuIo(files.rootDisk, `write -P ${generation} ${generation}M 64k`);
  await writeFile(files.memory, 'memory');
  const draft = await snapshots.draft(randomUUID(), id, 0, signal);
  await writeFile(draft.state, 'state');
  const record = {
    id: draft.state.split('/').at(-2) ?? '',
    createdAtUnix: generation,
    retiredAtUnix: undefined,
    sourceSandboxId: id,
    parentSnapshotId: from?.record.id,
    name: undefined,
    tags: {},
    vcpuCount: 1,
    memSizeMib: 1,
    egress: undefined,
    imageId: undefined,
    rateLimit: undefined,
    drives: [],
    mounts: [],
    identity: IDENTITY,
    vmm: VMM,
    agentGeneration: 2,
  };
  const stored = await draft.commit(record, false);
  await snapshots.removeMachine(id);
  return stored;
}

async function lineage(): Promise<StoredSnapshot[]> {
  const found: StoredSnapshot[] = [];
  for (let generation = 1; generation <= DEEP; generation += 1)
    found.push(await next(found.at(-1), generation));
  return found;
}

/** Rejects when a snapshot's disk is not what the generations up to its own wrote. */
async function check(snapshot: StoredSnapshot, generation: number): Promise<void> {
  const id = randomUUID();
  const { rootDisk } = await snapshots.createMachine(id, snapshot, signal);
  await qemuIo(rootDisk, 'read -P 0xba 64k 64k');
  for (let each = 1; each <= DEEP; each += 1)
    await qemuIo(rootDisk, `read -P ${each <= generation ? each : 0} ${each}M 64k`);
  await snapshots.removeMachine(id);
}

async function qemuIo(disk: string, command: string): Promise<void> {
  const said = await run('qemu-io', ['-f', 'qcow2', '-c', command, disk], signal);
  if (/failed/.test(said)) throw new Error(`${command}: ${said}`);
}

const layerFiles = () => readdir(join(dir, 'snapshots', 'layers'));

test.each(['oldest first', 'newest first', 'at random'])(
  'of a deep lineage every snapshot can go, %s, harms no other, and gives every byte back',
  async (order) => {
    const all = (await lineage()).map((snapshot, index) => ({ snapshot, generation: index + 1 }));
    const left = new Set(all);
    // Seven and twenty have no common divisor: a fixed shuffle.
    const shuffled = all.map((_, at) => all[(at * 7) % DEEP]).filter((each) => each !== undefined);
    const going = order === 'at random' ? shuffled : order === 'oldest first' ? all : all.toReversed();
    for (const [at, each] of going.entries()) {
      await snapshots.remove(each.snapshot.record.id);
      left.delete(each);
      const [some] = left;
      if (some !== undefined && at % 5 === 0) await check(some.snapshot, some.generation);
    }
    await expect.poll(() => layerFiles()).toEqual([]);
    expect(await readdir(join(dir, 'snapshots', 'held'))).toEqual([]);
  },
);

test('a long chain is made short, reads the same, and is read so by the next start', async () => {
  const all = await lineage();
  const last = all.at(-1);
  if (last === undefined) throw new Error('no lineage');
  const depths = () => Promise.all(all.map(({ record }) => depth(record.id)));
  // A layer may go between its name and its header.
  await expect
    .poll(async () => Math.max(...(await depths().catch(() => [Infinity]))))
    .toBeLessThanOrEqual(10);
  for (const [at, snapshot] of all.entries()) if (at % 6 === 1) await check(snapshot, at + 1);
  await snapshots[Symbol.asyncDispose]();
  snapshots = await open();
  const { whole, damaged } = await snapshots.recover(signal);
  expect(damaged).toEqual([]);
  expect(whole).toHaveLength(DEEP);
  await check(last, DEEP);
});

test('a snapshot whose chain is made short just now is whole all the time', async () => {
  let last: StoredSnapshot | undefined;
  let checks = 0;
  for (let generation = 1; generation <= DEEP; generation += 1) {
    const made = await next(last, generation);
    last = made;
    // As its successors do, so that layers go as soon as the chain lets them.
    if (last.record.parentSnapshotId !== undefined) await snapshots.remove(last.record.parentSnapshotId);
    for (const until = performance.now() + 60; performance.now() < until; checks += 1) {
      // Many at a time: one of them is between any two steps of the shortening.
      const looks = Array.from({ length: LOOKS }, () => snapshots.findFault(made, signal));
      for (const fault of await Promise.all(looks)) expect(fault).toBeUndefined();
      expect(await snapshots.uniqueBytes(last.record.id)).toBeGreaterThan(0);
    }
  }
  expect(checks).toBeGreaterThanOrEqual(DEEP);
});

test('a machine that runs keeps the layers it stands on, when its snapshot and those before it are gone', async () => {
  const first = await next(undefined, 1);
  const second = await next(first, 2);
  const id = randomUUID();
  const { rootDisk } = await snapshots.createMachine(id, second, signal);
  await snapshots.remove(first.record.id);
  await snapshots.remove(second.record.id);
  await qemuIo(rootDisk, 'read -P 1 1M 64k');
  expect(await layerFiles()).toHaveLength(2);
  await snapshots.removeMachine(id);
  expect(await layerFiles()).toEqual([]);
});

test('bytes shared with another snapshot are not counted as its own', async () => {
  const first = await next(undefined, 1);
  const before = await snapshots.uniqueBytes(first.record.id);
  const second = await next(first, 2);
  expect(await snapshots.uniqueBytes(first.record.id)).toBeLessThan(before);
  await snapshots.remove(second.record.id);
  expect(await snapshots.uniqueBytes(first.record.id)).toBe(before);
});

async function depth(id: string): Promise<number> {
  const layers = join(dir, 'snapshots', 'layers');
  let count = 0;
  for (let path = join(layers, `${id}.qcow2`); path.startsWith(layers); count += 1)
    path = (await readLayerHeader(path)).backing;
  return count;
}

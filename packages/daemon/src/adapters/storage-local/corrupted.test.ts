import { randomUUID } from 'node:crypto';
import { chmod, cp, mkdir, mkdtemp, open, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SnapshotRecord, StoredSnapshot } from '../../ports/snapshots.ts';
import { Random } from '../../testing/random.ts';
import { machineFiles } from './machine-files.ts';
import { emptyLayer } from '../../lib/qcow2.ts';
import { LocalSnapshots } from './snapshots.ts';

const MIB = 1024 * 1024;
const ROUNDS = Number(process.env.ATOLL_FUZZ_ROUNDS ?? 150);
const { signal } = new AbortController();

let dir: string;
let base: string;
let store: LocalSnapshots;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'atoll-corrupted-'));
  base = join(dir, 'base.ext4');
  await writeFile(base, ext4());
  await mkdir(join(dir, 'machines'));
  store = await openStore();
});
afterEach(async () => {
  await store[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

function openStore(): Promise<LocalSnapshots> {
  return LocalSnapshots.open({
    snapshotsDir: join(dir, 'snapshots'),
    machinesDir: join(dir, 'machines'),
    archiveDir: join(dir, 'archive'),
    onFault: (_, error) => {
      throw error;
    },
  });
}

/** As little of a file system as a base is known by. */
function ext4(): Buffer {
  const image = Buffer.alloc(MIB);
  image.writeUInt16LE(0xef53, 1024 + 0x38);
  return image;
}

/** A snapshot of a machine on the base, or on another snapshot. */
async function capture(over?: StoredSnapshot): Promise<StoredSnapshot> {
  const machine = randomUUID();
  const files = machineFiles(join(dir, 'machines'), machine);
  if (over === undefined) {
    await mkdir(files.dir);
    await writeFile(files.rootDisk, emptyLayer(BigInt(MIB), base, 'raw'));
  } else {
    await store.createMachine(machine, over, signal);
  }
  await writeFile(files.memory, Buffer.alloc(64 * 1024, 'm'));
  const draft = await store.draft(randomUUID(), machine, 0, signal);
  await writeFile(draft.state, Buffer.alloc(4096, 's'));
  const id = draft.state.split('/').at(-2) ?? '';
  const stored = await draft.commit(recordOf(id, machine), false);
  await store.removeMachine(machine);
  return stored;
}

function recordOf(id: string, sourceSandboxId: string): SnapshotRecord {
  return {
    ...{ id, sourceSandboxId, createdAtUnix: 1, retiredAtUnix: undefined, parentSnapshotId: undefined },
    ...{
      name: 'held',
      tags: { a: 'b' },
      vcpuCount: 1,
      memSizeMib: 1,
      imageId: undefined,
      rateLimit: undefined,
    },
    egress: { mode: 'deny_all', allowCidrs: ['10.0.0.0/8'], denyCidrs: [] },
    drives: [{ id: randomUUID(), readOnly: true, contentMark: 'x' }],
    mounts: [],
    poolId: undefined,
    identity: { mac: '02:00:0a:d5:00:05', address: '10.213.0.5', prefixLength: 16, gateway: '10.213.0.1' },
    vmm: { monitor: 'm', accelerator: 'tcg', cpu: 'c', kernel: 'k' },
    agentGeneration: 5,
  };
}

const layerOf = ({ record }: StoredSnapshot) => join(dir, 'snapshots/layers', `${record.id}.qcow2`);
const manifestOf = ({ record }: StoredSnapshot) => join(dir, 'snapshots/held', record.id, 'manifest.json');

/** Changes a file that may be read-only. */
async function patch(path: string, at: number, bytes: Buffer): Promise<void> {
  await chmod(path, 0o600);
  await using file = await open(path, 'r+');
  await file.write(bytes, 0, bytes.length, at);
}

/** A layer that stands on something of the forger's. */
async function forge(snapshot: StoredSnapshot, backing: string, format: 'raw' | 'qcow2'): Promise<void> {
  await chmod(layerOf(snapshot), 0o600);
  await writeFile(layerOf(snapshot), emptyLayer(BigInt(MIB), backing, format));
}

/** What a bring-up and the next start say of a snapshot. */
async function judge(snapshot: StoredSnapshot) {
  const fault = await store.findFault(snapshot, signal);
  const next = await openStore();
  const { whole, damaged } = await next.recover(signal);
  await next[Symbol.asyncDispose]();
  const { id } = snapshot.record;
  return {
    fault,
    isHeld: whole.some(({ record }) => record.id === id),
    setAside: damaged.find((each) => each.id === id),
  };
}

test('one that nobody touched has no fault', async () => {
  const below = await capture();
  const above = await capture(below);
  for (const each of [below, above])
    expect(await judge(each)).toEqual({ fault: undefined, isHeld: true, setAside: undefined });
});

describe('a layer that QEMU would read something else by', () => {
  test.each<[string, (secret: string) => readonly [string, 'raw' | 'qcow2']]>([
    ['a file of the host', (secret) => [secret, 'raw']],
    ['a file of the host, by a layer’s name', (secret) => [`${secret}/${randomUUID()}.qcow2`, 'qcow2']],
    ['JSON', (secret) => [`json:{"driver":"raw","file":{"driver":"file","filename":"${secret}"}}`, 'raw']],
    ['a URL', () => ['nbd://127.0.0.1:10809/x', 'raw']],
    ['a relative path', () => ['../../../etc/shadow', 'raw']],
    ['a protocol before a path', (secret) => [`file:${secret}`, 'raw']],
    ['a device', () => ['/dev/zero', 'raw']],
    ['a directory', () => ['/etc', 'raw']],
    ['the base as qcow2', () => [base, 'qcow2']],
    ['what is not there', () => ['/no/such/file', 'raw']],
  ])('%s', async (_, of) => {
    const snapshot = await capture();
    const secret = join(dir, 'secret');
    await writeFile(secret, 'root:*:20000:0:99999:7:::\n');
    await forge(snapshot, ...of(secret));
    const { fault } = await judge(snapshot);
    expect(fault).toMatchObject({
      what: 'files',
      actual: expect.stringContaining(snapshot.record.id) as string,
    });
  });

  test('another file by the name of the layer below', async () => {
    const below = await capture();
    const above = await capture(below);
    const elsewhere = join(dir, `${below.record.id}.qcow2`);
    await cp(layerOf(below), elsewhere);
    await forge(above, elsewhere, 'qcow2');
    expect((await judge(above)).fault?.actual).toContain(elsewhere);
  });

  test.each<[string, number, Buffer]>([
    ['data in another file', 72, bits(4n)],
    ['marked as damaged', 72, bits(2n)],
    ['an unknown feature', 72, bits(1n << 60n)],
    ['encrypted', 32, Buffer.from([0, 0, 0, 2])],
    ['of another version', 4, Buffer.from([0, 0, 0, 2])],
    ['of a size beyond any disk', 24, bits(2n ** 62n)],
    ['a name beyond the header', 8, bits(2n ** 60n)],
    ['a name of gigabytes', 16, Buffer.from([0x7f, 0xff, 0xff, 0xff])],
    ['extensions without end', 108, Buffer.from([0xff, 0xff, 0xff, 0xff])],
  ])('%s', async (_, at, bytes) => {
    const snapshot = await capture();
    await patch(layerOf(snapshot), at, bytes);
    const { fault, isHeld, setAside } = await judge(snapshot);
    expect(fault?.actual).toContain(snapshot.record.id);
    expect({ isHeld, setAside: setAside?.reason }).toEqual({
      isHeld: false,
      setAside: expect.stringContaining(snapshot.record.id) as string,
    });
  });

  test('a circle', async () => {
    const below = await capture();
    const above = await capture(below);
    await forge(below, layerOf(above), 'qcow2');
    const { isHeld, setAside } = await judge(above);
    expect({ isHeld, reason: setAside?.reason }).toEqual({
      isHeld: false,
      reason: expect.stringContaining('stands on itself') as string,
    });
  });

  test('sets aside its own snapshot alone', async () => {
    const [broken, whole] = [await capture(), await capture()];
    await chmod(layerOf(broken), 0o600);
    await truncate(layerOf(broken), 10);
    expect((await judge(whole)).isHeld).toBe(true);
  });
});

describe('a manifest that was changed', () => {
  test.each<[string, (manifest: Record<string, unknown>) => void]>([
    ['another’s id', (m) => (m['id'] = randomUUID())],
    [
      'an option of QEMU in its MAC',
      (m) => ((m['lease'] as Record<string, unknown>)['mac'] = '02:00:00:00:00:01,romfile=/etc/shadow'),
    ],
    ['a path in the id of a drive', (m) => (m['drives'] = [{ id: '../../etc/shadow', read_only: true }])],
    ['a machine of a million processors', (m) => (m['vcpu_count'] = 1_000_000)],
    ['a machine of an exabyte', (m) => (m['mem_size_mib'] = 2 ** 40)],
    [
      'text for a network',
      (m) => (m['egress'] = { mode: 'deny_all', allow_cidrs: ['accept'], deny_cidrs: [] }),
    ],
    ['a later form', (m) => (m['format'] = 2)],
  ])('%s', async (_, change) => {
    const snapshot = await capture();
    const manifest = JSON.parse(await readFile(manifestOf(snapshot), 'utf8')) as Record<string, unknown>;
    change(manifest);
    await writeFile(manifestOf(snapshot), JSON.stringify(manifest));
    const { isHeld, setAside } = await judge(snapshot);
    expect({ isHeld, reason: setAside?.reason }).toEqual({
      isHeld: false,
      reason: expect.any(String) as string,
    });
    expect((await stat(setAside?.movedTo ?? '')).isDirectory()).toBe(true);
  });
});

test(
  `${ROUNDS} random changes of any file end in a fault or in none, never in a crash`,
  { timeout: 300_000 },
  async () => {
    const random = Random.seeded();
    const below = await capture();
    const above = await capture(below);
    const pristine = join(dir, 'pristine');
    await cp(join(dir, 'snapshots'), pristine, { recursive: true });
    for (let round = 0; round < ROUNDS; round += 1) {
      const victim = random.pick([below, above]);
      const path = random.pick([
        manifestOf(victim),
        layerOf(victim),
        victim.state,
        victim.memory ?? victim.state,
      ]);
      await damage(path, random);
      const { fault, isHeld, setAside } = await judge(victim);
      const said = `${random.said}, round ${round}: ${path}`;
      // What is set aside must be found by a bring-up too; what stays held may still be refused there.
      if (!isHeld)
        expect({ fault: fault !== undefined || setAside === undefined, said }).toEqual({ fault: true, said });
      await rm(join(dir, 'snapshots'), { recursive: true });
      await cp(pristine, join(dir, 'snapshots'), { recursive: true });
      await store[Symbol.asyncDispose]();
      store = await openStore();
      await store.recover(signal);
    }
  },
);

async function damage(path: string, random: Random): Promise<void> {
  await chmod(path, 0o600);
  const { size } = await stat(path);
  switch (random.below(4)) {
    case 0:
      return rm(path);
    case 1:
      return truncate(path, random.below(size));
    case 2:
      // Where the headers are.
      return patch(path, random.below(Math.min(size, 512)), random.bytes(8));
    default:
      return patch(path, random.below(size), random.bytes(1 + random.below(64)));
  }
}

function bits(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}

import { chmod, chown, cp, open, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from './harness/client.ts';
import { Daemon } from './harness/daemon.ts';
import { expectFailure } from './harness/failure.ts';
import { createSandbox } from './harness/sandbox.ts';
import {
  bringUp,
  deleteSnapshots,
  listCheckpoints,
  listSnapshots,
  takeSnapshot,
} from './harness/snapshot.ts';

const SIZE = { mem_size_mib: 128, vcpu_count: 1 };
const CALL_MS = 90_000;

let daemon: Daemon;
let client: Client;
let snapshot: string;
let checkpoint: string;
/** The snapshots' directory as it was. */
let pristine: string;

beforeAll(async () => {
  // Memory in which nothing makes sense is given up then.
  daemon = await Daemon.start({ SERVICE_BOOT_TIMEOUT_SECS: '40' });
  ({ client } = daemon);
  const first = await createSandbox(client, SIZE);
  await first.sh('echo first >/root/kept');
  checkpoint = await takeSnapshot(client, first.id);
  const resumed = await bringUp(client, `${checkpoint}/resume`);
  snapshot = await takeSnapshot(client, resumed.id);
  pristine = join(daemon.stateDir, '.pristine');
  await cp(join(daemon.stateDir, 'snapshots'), pristine, {
    recursive: true,
    preserveTimestamps: true,
    // The daemon's lock is a socket.
    filter: (path) => !path.endsWith('.sock'),
  });
}, 180_000);

// Whatever came of it.
afterEach(repair);
afterAll(async () => {
  await deleteSnapshots(client);
  await rm(pristine, { recursive: true });
  await daemon[Symbol.asyncDispose]();
});

const held = (id: string, name: string) => join(daemon.stateDir, 'snapshots/held', id, name);
const layer = (id: string) => join(daemon.stateDir, 'snapshots/layers', `${id}.qcow2`);

/** Puts the bytes of every file back, in place: the daemon has the directory. */
async function repair(): Promise<void> {
  const dir = join(daemon.stateDir, 'snapshots');
  const owner = await stat(dir);
  for (const name of await readdir(pristine, { recursive: true })) {
    const found = await stat(join(pristine, name));
    if (!found.isFile()) continue;
    await rm(join(dir, name), { force: true });
    await cp(join(pristine, name), join(dir, name));
    await chmod(join(dir, name), found.mode);
    await chown(join(dir, name), owner.uid, owner.gid);
  }
}

async function patch(path: string, at: number, bytes: Buffer): Promise<void> {
  await using file = await open(path, 'r+');
  await file.write(bytes, 0, bytes.length, at);
}

/** Has a layer name another file under it, of this format. */
async function forge(path: string, backing: string, format: string): Promise<void> {
  const name = Buffer.from(backing);
  await using file = await open(path, 'r+');
  const { buffer } = await file.read(Buffer.alloc(512), 0, 512, 0);
  const at = Number(buffer.readBigUInt64BE(8));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(name.length);
  await file.write(length, 0, 4, 16);
  await file.write(name, 0, name.length, at);
  const extension = buffer.indexOf(Buffer.from([0xe2, 0x79, 0x2a, 0xca]));
  const size = Buffer.alloc(12);
  size.writeUInt32BE(format.length);
  size.write(format, 4);
  await file.write(size, 0, 12, extension + 4);
}

const noise = (length: number) => Buffer.from(Array.from({ length }, (_, at) => (at * 37 + 11) & 0xff));

/** What a bring-up answers, for which there is a deadline. */
function resume(how = `${snapshot}/fork?fresh_identity=true`) {
  return client.call('POST', `/snapshots/${how}`, undefined, { signal: AbortSignal.timeout(CALL_MS) });
}

const REFUSED: readonly [string, () => Promise<void>][] = [
  ['a manifest of noise', () => writeFile(held(snapshot, 'manifest.json'), noise(900))],
  ['half a manifest', () => truncate(held(snapshot, 'manifest.json'), 300)],
  ['no manifest', () => rm(held(snapshot, 'manifest.json'))],
  ['another device state', () => patch(held(snapshot, 'state'), 1000, noise(64))],
  ['half a device state', () => truncate(held(snapshot, 'state'), 1000)],
  ['no device state', () => rm(held(snapshot, 'state'))],
  ['half a memory', () => truncate(held(snapshot, 'memory'), 1024 * 1024)],
  ['no memory', () => rm(held(snapshot, 'memory'))],
  ['no layer', () => rm(layer(snapshot))],
  ['no layer below', () => rm(layer(checkpoint))],
  ['a layer of noise', () => writeFile(layer(snapshot), noise(70_000))],
  ['an empty layer', () => truncate(layer(snapshot), 0)],
  ['a layer over a file of the host', () => forge(layer(snapshot), '/etc/passwd', 'raw')],
  ['a layer over what only root reads', () => forge(layer(snapshot), '/etc/shadow', 'raw')],
  [
    'a layer over JSON',
    () =>
      forge(
        layer(snapshot),
        'json:{"driver":"raw","file":{"driver":"file","filename":"/etc/passwd"}}',
        'raw',
      ),
  ],
  ['a layer over a URL', () => forge(layer(snapshot), 'nbd://127.0.0.1:10809/disk', 'raw')],
  [
    'a layer with its data elsewhere',
    () => patch(layer(snapshot), 72, Buffer.from([0, 0, 0, 0, 0, 0, 0, 4])),
  ],
];

describe('a snapshot that was changed while the daemon runs', () => {
  it.each(REFUSED)('is refused, and stays: %s', { timeout: 180_000 }, async (_, change) => {
    await change();
    expectFailure(await resume(), 409, 'SNAPSHOT_INCOMPATIBLE', snapshot);
    expect((await listSnapshots(client)).map(({ id }) => id)).toEqual([snapshot]);
  });

  it.each<[string, () => Promise<void>]>([
    ['tables of the layer', () => patch(layer(snapshot), 65_536, noise(65_536 * 2))],
    ['memory', () => patch(held(snapshot, 'memory'), 20 * 1024 * 1024, noise(8 * 1024 * 1024))],
  ])('answers, or fails clearly: %s', { timeout: 240_000 }, async (_, change) => {
    await change();
    const answer = await resume();
    if (answer.status !== 200) expectFailure(answer, 500, 'RESTORE_FAILED', snapshot);
    else await client.call('DELETE', `/sandboxes/${(answer.json as { id: string }).id}?keep=false`);
    daemon.assertRunning();
  });

  it('comes up once it is as it was', { timeout: 180_000 }, async () => {
    const fork = await bringUp(client, `${snapshot}/fork?fresh_identity=true`);
    expect(await fork.sh('cat /root/kept')).toBe('first');
    await fork.destroy();
  });
});

describe('a start', () => {
  it('sets aside what was changed, says so, and has the rest', { timeout: 300_000 }, async () => {
    daemon.signal('SIGTERM');
    await daemon.ended();
    await writeFile(layer(snapshot), noise(70_000));
    await writeFile(join(daemon.stateDir, 'pools.json'), '[]');
    daemon = await daemon.restart();
    ({ client } = daemon);
    expect(daemon.log.find('damaged snapshot set aside')).toMatchObject({ snapshot_id: snapshot });
    expect(await listSnapshots(client)).toEqual([]);
    expect((await listCheckpoints(client)).map(({ id }) => id)).toEqual([checkpoint]);
    const restored = await bringUp(client, `history/${checkpoint}/restore`);
    expect(await restored.sh('cat /root/kept')).toBe('first');
    await restored.destroy();
  });
});

import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '../harness/client.ts';
import { createSandbox, listSandboxes } from '../harness/sandbox.ts';
import { bringUp, deleteSnapshots, makeClones, takeSnapshot } from '../harness/snapshot.ts';
import { createDrive, listDrives } from '../storage/drives.ts';
import { makeExt4 } from '../storage/files.ts';

const SIZE = { mem_size_mib: 128, vcpu_count: 1 };
const PORT = 8000;

/** What hooks.py is told of a daemon. */
export interface Known {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** By the beginning of a path: the id that it may have. The first that fits counts. */
  readonly always: Readonly<Record<string, string>>;
  /** By operation: the ids that it may end. */
  readonly once: Readonly<Record<string, readonly string[]>>;
  readonly name: string;
  readonly port: string;
  readonly session_id: string;
  readonly image_path: string;
}

/** Makes one of everything, and something to end for each operation that ends things. */
export async function prepare(client: Client, token: string, stack: AsyncDisposableStack): Promise<Known> {
  const dir = await mkdtemp('/var/tmp/atoll-fuzz-');
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  await chmod(dir, 0o755);
  const image = join(dir, 'image.ext4');
  await makeExt4(image, '16M');
  const main = await createSandbox(client, { ...SIZE, name: 'fuzz-main' });
  const server = `python3 -m http.server ${PORT} --directory /etc`;
  const session = await main.post('exec-stream', { command: 'sh', args: ['-c', server] });
  const second = await createSandbox(client, SIZE);
  const checkpoint = await takeSnapshot(client, second.id);
  const resumed = await bringUp(client, `${checkpoint}/resume`);
  const snapshot = await takeSnapshot(client, resumed.id);
  const [a, b, ended, snapshotted] = await makeClones(client, snapshot, { count: 4 });
  if (!a || !b || !ended || !snapshotted) throw new Error('four clones were asked for');
  const toDelete = await takeSnapshot(client, a.id);
  const toResume = await takeSnapshot(client, b.id);
  const [kept, removed] = [await createDrive(client, 16), await createDrive(client, 16)];
  for (const [path, body] of [
    ['/images', { id: 'fuzz-image', path: image }],
    ['/pools', { id: 'fuzz-pool', warm_count: 0, ...SIZE }],
    ['/pools', { id: 'fuzz-pool-2', warm_count: 0, ...SIZE }],
  ] as const) {
    const { status, text } = await client.call('POST', path, body);
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
  }
  return {
    url: client.url,
    headers: { authorization: `Bearer ${token}` },
    always: {
      '/sandboxes/{id}': main.id,
      '/snapshots/history/{id}': checkpoint,
      '/snapshots/{id}': snapshot,
      '/drives/': kept.id,
    },
    once: {
      'DELETE /sandboxes/{id}': [ended.id],
      'POST /sandboxes/{id}/snapshot': [snapshotted.id],
      'DELETE /snapshots/{id}': [toDelete],
      'POST /snapshots/{id}/resume': [toResume],
      'DELETE /snapshots/history/{id}': [toResume],
      'DELETE /drives/{id}': [removed.id],
      'DELETE /images/{id}': ['fuzz-image'],
      'DELETE /pools/{id}': ['fuzz-pool-2'],
    },
    name: 'fuzz-main',
    port: String(PORT),
    session_id: (session.json as { session_id: string }).session_id,
    image_path: image,
  };
}

/** Ends all that a daemon has. */
export async function tidy(client: Client): Promise<void> {
  for (const { id } of await listSandboxes(client))
    await client.call('DELETE', `/sandboxes/${id}?keep=false`);
  await deleteSnapshots(client);
  for (const { id } of await listDrives(client)) await client.call('DELETE', `/drives/${id}`);
  const { json } = await client.call('GET', '/pools');
  for (const { id } of (json as { pools: { id: string }[] }).pools)
    await client.call('DELETE', `/pools/${id}`);
}

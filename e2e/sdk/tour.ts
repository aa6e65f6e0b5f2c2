import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import type * as Sdk from '../../packages/sdk/src/index.ts';
import { makeExt4 } from '../storage/files.ts';
import { SIZE } from './lab.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Is told of objects whose classes the package does not export. */
type Meet = (name: string, object: object) => void;

/** Calls everything that the SDK offers, once, against a daemon. What the calls answer is for other tests. */
export async function tour(sdk: typeof Sdk, how: Sdk.AtollOptions, meet: Meet): Promise<void> {
  const client = sdk.Atoll.of(how);
  const connect = { client };
  await sdk.health(connect);
  await sdk.metrics(connect);
  await sdk.openapi(connect);
  await things(sdk, connect);
  const sandbox = await sdk.Sandbox.create({ ...SIZE, name: 'tour' }, connect);
  await sdk.Sandbox.get('tour', connect);
  await sdk.Sandbox.byName('tour', connect);
  await sdk.Sandbox.list({ ...connect, tags: { none: 'such' } });
  await sandbox.info();
  await sandbox.exec('true');
  await files(sandbox, meet);
  await processes(sandbox, meet);
  await terminal(sandbox, meet);
  await servers(sandbox, meet);
  await mounts(sandbox, meet);
  await snapshots(sdk, connect, sandbox);
  await sdk.history(connect);
}

async function things(sdk: typeof Sdk, connect: Sdk.ConnectOptions): Promise<void> {
  const drive = await sdk.Drive.create({ size_mib: 8 }, connect);
  await sdk.Drive.list(connect);
  await drive.delete();
  const pool = await sdk.Pool.create({ id: 'inert', warm_count: 0 }, connect);
  await sdk.Pool.list(connect);
  await pool.delete();
  await sdk.Image.list(connect);
  // A place that the daemon's user may enter.
  const dir = await mkdtemp('/var/tmp/atoll-sdk-tour-');
  try {
    await chmod(dir, 0o755);
    await makeExt4(join(dir, 'empty.ext4'), '8M');
    const image = await sdk.Image.register({ id: 'empty', path: join(dir, 'empty.ext4') }, connect);
    await image.delete();
  } finally {
    await rm(dir, { recursive: true });
  }
}

async function files({ files: all }: Sdk.Sandbox, meet: Meet): Promise<void> {
  meet('Files', all);
  const dir = await mkdtemp(join(tmpdir(), 'atoll-sdk-tour-'));
  try {
    await writeFile(join(dir, 'file'), 'up');
    await all.mkdir('/tmp/tour');
    await all.upload(dir, '/tmp/tour/folder');
    await all.download('/tmp/tour/folder', join(dir, 'down'));
  } finally {
    await rm(dir, { recursive: true });
  }
  await all.write('/tmp/tour/a', 'text');
  await all.read('/tmp/tour/a');
  await all.readText('/tmp/tour/a');
  await (await all.readStream('/tmp/tour/a')).cancel();
  await all.writeBase64('/tmp/tour/b', await all.readBase64('/tmp/tour/a'));
  await all.copy('/tmp/tour/a', '/tmp/tour/c');
  await all.rename('/tmp/tour/c', '/tmp/tour/d');
  await all.symlink('a', '/tmp/tour/link');
  await all.readlink('/tmp/tour/link');
  await all.truncate('/tmp/tour/d', 1);
  await all.chmod('/tmp/tour/d', 0o600);
  await all.chown('/tmp/tour/d', 0, 0);
  await all.list('/tmp/tour');
  await all.remove('/tmp/tour');
}

async function processes(sandbox: Sdk.Sandbox, meet: Meet): Promise<void> {
  const process = await sandbox.spawn('sh', ['-c', 'cat; sleep 600']);
  meet('Process', process);
  await process.writeStdin('some');
  await process.closeStdin();
  for await (const _ of process.output) break;
  await process.kill();
  await process.wait();
  await process.text();
  for await (const _ of process.events()) break;
  await sandbox.processes();
  sandbox.process(process.id);
}

async function terminal(sandbox: Sdk.Sandbox, meet: Meet): Promise<void> {
  const first = await sandbox.pty();
  meet('Terminal', first);
  await using shell = await sandbox.pty();
  const shown = (async () => {
    for await (const _ of shell.output);
  })();
  await shell.resize({ cols: 90, rows: 20 });
  await shell.write('exit 3\r');
  if ((await shell.wait()) !== 3) throw new Error('the shell has not told its exit code');
  await shown;
  await first.close();
}

async function servers(sandbox: Sdk.Sandbox, meet: Meet): Promise<void> {
  sandbox.previewUrl(8000);
  // Nothing listens there: it is the daemon that answers.
  for (const path of ['', '/path'])
    for (const method of METHODS) await (await sandbox.fetch(8000, path, { method })).text();
  const server = createServer((_request, response) => response.end('here')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await using tunnel = await sandbox.tunnel(9000, { port: (server.address() as AddressInfo).port });
    meet('Tunnel', tunnel);
    const script = 'import urllib.request as u; print(u.urlopen("http://127.0.0.1:9000").read().decode())';
    const { stdout } = await sandbox.exec('python3', ['-c', script]);
    if (stdout !== 'here\n') throw new Error(`the tunnel brought ${JSON.stringify(stdout)}`);
  } finally {
    server.close();
  }
  await refused(sandbox.closeTunnel('none'));
}

async function mounts(sandbox: Sdk.Sandbox, meet: Meet): Promise<void> {
  meet('Mounts', sandbox.mounts);
  // A name is asked for before the mount tool is: this path cannot be made.
  const keys = { access_key: 'a', secret_key: 's' };
  const body = { bucket: 'b', endpoint: 'http://127.0.0.1:1', mount_path: '/proc/none', ...keys };
  await refused(sandbox.mounts.create(body));
  await sandbox.mounts.list();
  await refused(sandbox.mounts.delete('none'));
}

async function snapshots(sdk: typeof Sdk, connect: Sdk.ConnectOptions, sandbox: Sdk.Sandbox): Promise<void> {
  const { Sandbox, Snapshot, Checkpoint } = sdk;
  const first = await sandbox.snapshot();
  await Snapshot.get(first.id, connect);
  await first.info();
  await (await first.fork()).stop({ keep: false });
  for (const each of await first.clone({ count: 1 }))
    if (each instanceof Sandbox) await each.stop({ keep: false });
  await using again = await first.resume();
  await Sandbox.getOrCreate({ name: 'tour' }, connect);
  await again.stop({ keep: false });
  const [checkpoint] = await Checkpoint.list(connect);
  if (checkpoint === undefined) throw new Error('the resume left no checkpoint');
  await checkpoint.pin(true);
  await Checkpoint.prune({ ...connect, dry_run: true });
  const second = await (await checkpoint.restore()).snapshot();
  await second.delete();
  await checkpoint.delete();
}

/** Waits for a call that the daemon refuses. */
async function refused(call: Promise<unknown>): Promise<void> {
  const was = await call.then(
    () => 'taken',
    () => 'refused',
  );
  if (was === 'taken') throw new Error('a call was taken that is to be refused');
}

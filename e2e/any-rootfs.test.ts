import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Daemon } from './harness/daemon.ts';
import { createSandbox } from './harness/sandbox.ts';

const execute = promisify(execFile);

const stack = new AsyncDisposableStack();
let dir: string;
/** A busybox without any library, or why there is none. */
let busybox: string | Error;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'atoll-rootfs-'));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  busybox = await findBusybox(dir).catch((error: unknown) => error as Error);
});

afterAll(() => stack.disposeAsync());

describe('any ext4 boots', () => {
  it('a tree that holds busybox and nothing else', async (context) => {
    if (busybox instanceof Error) {
      context.skip(`no static busybox can be had: ${busybox.message}`);
      return;
    }
    const rootfs = join(dir, 'busybox.ext4');
    await mkdir(join(dir, 'tree'));
    await copyFile(busybox, join(dir, 'tree', 'busybox'));
    await chmod(join(dir, 'tree', 'busybox'), 0o755);
    await execute('mke2fs', ['-q', '-t', 'ext4', '-d', join(dir, 'tree'), rootfs, '32M'], {
      env: ADMIN_PATH,
    });

    await using daemon = await Daemon.start({ SERVICE_BASE_ROOTFS: rootfs });
    await using sandbox = await createSandbox(daemon.client, { name: 'bare', env: { A: 'b' } });
    const busyboxRun = (...args: string[]) => sandbox.exec('/busybox', args);
    const greeting = { stdout: 'hello b\n', stderr: '', exit_code: 0 };
    expect(await busyboxRun('sh', '-c', '/busybox echo hello $A')).toStrictEqual(greeting);
    expect((await busyboxRun('hostname')).stdout).toBe('bare\n');
    expect((await busyboxRun('id', '-u')).stdout).toBe('0\n');
    expect((await sandbox.exec('sh')).exit_code).toBe(127);
    expect((await sandbox.exec('/busybox', ['id', '-u'], { user: '1000' })).stdout).toBe('1000\n');
    const content = { path: '/file', content_base64: 'aGk=' };
    expect((await sandbox.post('write-file', content)).status).toBe(204);
    expect((await busyboxRun('cat', '/file')).stdout).toBe('hi');
  });
});

// Where Debian keeps mke2fs is not in everyone's PATH.
const ADMIN_PATH = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` };

/** The host's own static busybox, or the one of Debian's package, which is fetched but not installed. */
async function findBusybox(place: string): Promise<string> {
  if (await isStatic('/bin/busybox')) return '/bin/busybox';
  await execute('apt-get', ['download', 'busybox-static'], { cwd: place });
  const deb = (await readdir(place)).find((name) => name.endsWith('.deb'));
  if (deb === undefined) throw new Error('apt-get fetched nothing');
  await execute('dpkg-deb', ['--extract', deb, 'package'], { cwd: place });
  for (const path of ['bin/busybox', 'usr/bin/busybox']) {
    const found = join(place, 'package', path);
    if (await isStatic(found)) return found;
  }
  throw new Error('the package holds no static busybox');
}

/** Whether a program is there and asks for no loader: ldd fails on those, and says so on either stream. */
async function isStatic(path: string): Promise<boolean> {
  try {
    const { stdout } = await execute('ldd', [path]);
    return stdout.includes('statically linked');
  } catch (error) {
    return (error as { stderr?: string }).stderr?.includes('not a dynamic executable') ?? false;
  }
}

import { chmod, copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Daemon } from './harness/daemon.ts';
import { createSandbox } from './harness/sandbox.ts';
import { findBusybox } from './storage/busybox.ts';
import { makeExt4 } from './storage/files.ts';

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
    await makeExt4(rootfs, '32M', join(dir, 'tree'));

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

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from './harness/client.ts';
import { Connection } from './harness/connection.ts';
import { Daemon } from './harness/daemon.ts';
import { expectFailure } from './harness/failure.ts';
import { createSandbox } from './harness/sandbox.ts';
import type { Sandbox } from './harness/sandbox.ts';

const stack = new AsyncDisposableStack();
let client: Client;
let sandbox: Sandbox;

beforeAll(async () => {
  const daemon = stack.use(await Daemon.start());
  client = daemon.client;
  sandbox = await createSandbox(client);
  await sandbox.sh(`mkdir -p /w/dir/sub /w/full/x /w/small && cd /w && echo text > file && ln -s loop loop && mkfifo fifo
    mount -t tmpfs -o ro none /w/sub-ro 2>/dev/null || { mkdir /w/sub-ro && mount -t tmpfs -o ro none /w/sub-ro; }
    mount -t tmpfs -o size=64k none /w/small`);
});

afterAll(() => stack.disposeAsync());

const CONTENT = { content_base64: 'eA==' };
const LONG = `/w/${'n'.repeat(256)}`;

/** What is asked for, the code of the answer, and the path that its message names (the request's first one when absent). */
type Case = readonly [operation: string, body: Record<string, unknown>, code: string, named?: string];

const REFUSED: Case[] = [
  ['read-file', { path: '/w/none' }, 'ENOENT'],
  ['read-file', { path: '/w/dir' }, 'EISDIR'],
  ['read-file', { path: '/w/file/x' }, 'ENOTDIR'],
  ['read-file', { path: '/w/loop' }, 'ELOOP'],
  ['read-file', { path: '/w/fifo' }, 'EINVAL'],
  ['read-file', { path: '/dev/zero' }, 'EINVAL'],
  ['read-file', { path: LONG }, 'ENAMETOOLONG'],
  ['write-file', { path: '/w/none/x', ...CONTENT }, 'ENOENT'],
  ['write-file', { path: '/w/dir', ...CONTENT }, 'EISDIR'],
  ['write-file', { path: '/w/file/x', ...CONTENT }, 'ENOTDIR'],
  ['write-file', { path: '/w/loop', ...CONTENT }, 'ELOOP'],
  ['write-file', { path: '/w/fifo', ...CONTENT }, 'EINVAL'],
  ['write-file', { path: '/w/sub-ro/x', ...CONTENT }, 'EROFS'],
  ['write-file', { path: '/w/small/x', content_base64: 'AAAA'.repeat(65_536) }, 'ENOSPC'],
  ['write-file', { path: '/sys/devices/system/cpu/online', ...CONTENT }, 'EACCES'],
  ['write-file', { path: LONG, ...CONTENT }, 'ENAMETOOLONG'],
  ['chmod', { path: '/w/none', mode: 0o644 }, 'ENOENT'],
  ['chmod', { path: '/w/file/x', mode: 0o644 }, 'ENOTDIR'],
  ['chmod', { path: '/w/loop', mode: 0o644 }, 'ELOOP'],
  ['chmod', { path: '/w/sub-ro', mode: 0o700 }, 'EROFS'],
  ['chmod', { path: '/proc/1/status', mode: 0o644 }, 'EPERM'],
  ['chown', { path: '/w/none', uid: 1, gid: 1 }, 'ENOENT'],
  ['chown', { path: '/w/sub-ro', uid: 1, gid: 1 }, 'EROFS'],
  ['mkdir', { path: '/w/dir' }, 'EEXIST'],
  ['mkdir', { path: '/w/file' }, 'EEXIST'],
  ['mkdir', { path: '/w/none/x' }, 'ENOENT'],
  ['mkdir', { path: '/w/file/x' }, 'ENOTDIR'],
  ['mkdir', { path: '/w/file/x/y', parents: true }, 'ENOTDIR', '/w/file'],
  ['mkdir', { path: '/w/sub-ro/x' }, 'EROFS'],
  ['rename', { from: '/w/none', to: '/w/x' }, 'ENOENT'],
  ['rename', { from: '/w/dir', to: '/w/full' }, 'ENOTEMPTY'],
  ['rename', { from: '/w/dir', to: '/w/dir/sub/x' }, 'EINVAL'],
  ['rename', { from: '/w/dir', to: '/w/file' }, 'ENOTDIR'],
  ['rename', { from: '/w/file', to: '/w/dir' }, 'EISDIR'],
  ['rename', { from: '/w/file', to: '/w/small/file' }, 'EXDEV'],
  ['rename', { from: '/w/small', to: '/w/moved' }, 'EBUSY'],
  ['copy', { from: '/w/none', to: '/w/x' }, 'ENOENT'],
  ['copy', { from: '/w/file', to: '/w/none/x' }, 'ENOENT', '/w/none/x'],
  ['copy', { from: '/w/file', to: '/w/dir' }, 'EISDIR', '/w/dir'],
  ['copy', { from: '/w/dir', to: '/w/dir/sub/x' }, 'EINVAL'],
  ['copy', { from: '/w/file', to: '/w/file' }, 'EINVAL'],
  ['copy', { from: '/w/file', to: '/w/sub-ro/x' }, 'EROFS', '/w/sub-ro/x'],
  ['symlink', { target: '/x', link_path: '/w/file' }, 'EEXIST', '/w/file'],
  ['symlink', { target: '/x', link_path: '/w/none/x' }, 'ENOENT', '/w/none/x'],
  ['readlink', { path: '/w/none' }, 'ENOENT'],
  ['readlink', { path: '/w/file' }, 'EINVAL'],
  ['truncate', { path: '/w/none', size: 0 }, 'ENOENT'],
  ['truncate', { path: '/w/dir', size: 0 }, 'EISDIR'],
  ['truncate', { path: '/w/fifo', size: 0 }, 'EINVAL'],
  ['list-dir', { path: '/w/none' }, 'ENOENT'],
  ['list-dir', { path: '/w/file' }, 'ENOTDIR'],
  ['list-dir', { path: '/w/loop' }, 'ELOOP'],
];

const CASES = REFUSED.map(
  ([operation, body, code, named]) =>
    [operation, body, code, named ?? String(body['path'] ?? body['from'])] as const,
);

describe('what the guest refuses is 400 with the name of its errno', () => {
  it.each(CASES)('%s %j: %s', async (operation, body, code, path) => {
    expectFailure(await sandbox.post(operation, body), 400, code, path);
  });

  it.each([
    ['GET', '/w/none', 'ENOENT'],
    ['GET', '/w/dir', 'EISDIR'],
    ['GET', '/w/fifo', 'EINVAL'],
    ['PUT', '/w/none/x', 'ENOENT'],
    ['PUT', '/w/dir', 'EISDIR'],
    ['PUT', '/w/sub-ro/x', 'EROFS'],
  ])('%s /sandboxes/:id/files?path=%s', async (method, path, code) => {
    const body = method === 'PUT' ? 'content' : undefined;
    const answer = await client.call(method, `${sandbox.path}/files?path=${path}`, body);
    expectFailure(answer, 400, code, path);
  });

  it.each([
    ['that fills the disk', '/w/small/y', '400 .*ENOSPC'],
    ['to nowhere', '/w/none/y', '400 .*ENOENT'],
    ['to a directory', '/w/dir', '400 .*EISDIR'],
  ])('a raw upload %s, and the connection is good for the next call', async (_what, path, answer) => {
    using connection = new Connection(client.url);
    const content = new Uint8Array(4 * 1024 * 1024);
    const refused = await connection.send('PUT', `${sandbox.path}/files?path=${path}`, content);
    expect(refused).toMatch(new RegExp(answer));
    expect(await connection.send('GET', '/healthz')).toBe('200 ok');
  });

  it('a raw upload to a sandbox that is not there', async () => {
    using connection = new Connection(client.url);
    const content = new Uint8Array(4 * 1024 * 1024);
    expect(await connection.send('PUT', '/sandboxes/nobody/files?path=/x', content)).toMatch(/^404 /);
    expect(await connection.send('GET', '/healthz')).toBe('200 ok');
  });

  it('an unchangeable file', async () => {
    const { exit_code } = await sandbox.exec('chattr', ['+i', '/w/file']);
    if (exit_code === 127) return; // This root file system has no chattr.
    try {
      expectFailure(
        await sandbox.post('write-file', { path: '/w/file', ...CONTENT }),
        400,
        'EPERM',
        '/w/file',
      );
    } finally {
      await sandbox.exec('chattr', ['-i', '/w/file']);
    }
  });

  it('has harmed nothing', async () => {
    expect(await sandbox.sh('cat /w/file; ls /w/dir /w/full; ls /w/sub-ro | wc -l')).toBe(
      'text\n/w/dir:\nsub\n\n/w/full:\nx\n0',
    );
  });
});

import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Daemon } from './harness/daemon.ts';
import { expectNoContent } from './harness/failure.ts';
import { createSandbox } from './harness/sandbox.ts';
import type { Sandbox } from './harness/sandbox.ts';

const MIB = 1024 * 1024;

const stack = new AsyncDisposableStack();
let sandbox: Sandbox;

beforeAll(async () => {
  const daemon = stack.use(await Daemon.start());
  sandbox = await createSandbox(daemon.client);
  await sandbox.sh('mkdir /data');
});

afterAll(() => stack.disposeAsync());

describe('write-file and read-file', () => {
  it.each([
    ['text', 'hello\n'],
    ['nothing', ''],
    ['unicode', 'grüße 🏝\n'],
    ['binary', Buffer.from(Array.from({ length: 512 }, (_, at) => at % 256))],
    ['one byte', Buffer.from([0])],
    ['two bytes', Buffer.from([0, 255])],
  ])('carry %s', async (what, content) => {
    const path = `/data/${what}`;
    await write(path, Buffer.from(content));
    expect(await read(path)).toEqual(Buffer.from(content));
    expect(await sandbox.sh(`sha256sum < '${path}'`)).toContain(sha256(Buffer.from(content)));
  });

  it('replace what was there', async () => {
    await write('/data/replaced', Buffer.from('a long text'));
    await write('/data/replaced', Buffer.from('short'));
    expect(await sandbox.sh('cat /data/replaced')).toBe('short');
  });

  it('make files that everyone may read and only their owner write', async () => {
    await write('/data/fresh', Buffer.from('x'));
    expect(await sandbox.sh('stat -c "%a %U %G" /data/fresh')).toBe('644 root root');
  });

  it('go through symbolic links', async () => {
    await sandbox.sh('ln -s /data/aim /data/arrow');
    await write('/data/arrow', Buffer.from('hit'));
    expect(await sandbox.sh('cat /data/aim; test -L /data/arrow')).toBe('hit');
    expect((await read('/data/arrow')).toString()).toBe('hit');
  });

  it.each([
    '/data/ünïcödé 🏝',
    '/data/with space',
    '/data/-dash',
    '/data/"quotes"',
    '/data/a\nb',
    '/data/%41',
  ])('take the name %j', async (path) => {
    await write(path, Buffer.from('named'));
    expect((await sandbox.exec('cat', ['--', path])).stdout).toBe('named');
    expect((await read(path)).toString()).toBe('named');
  });

  it('take base64 with and without padding', async () => {
    expectNoContent(await sandbox.post('write-file', { path: '/data/padding', content_base64: 'aGk' }));
    expect(await sandbox.sh('cat /data/padding')).toBe('hi');
  });

  it('read files of the kernel, whose size says nothing', async () => {
    expect((await read('/proc/version')).toString()).toContain('Linux');
    expect((await read('/sys/class/net/lo/mtu')).toString()).toBe('65536\n');
  });

  it('carry 32 MiB', async () => {
    const content = randomBytes(32 * MIB);
    await write('/data/large', content);
    expect(await sandbox.sh('sha256sum < /data/large')).toContain(sha256(content));
    expect(sha256(await read('/data/large'))).toBe(sha256(content));
  });
});

describe('changes', () => {
  it('chmod sets all twelve bits', async () => {
    await write('/data/mode', Buffer.from(''));
    for (const mode of [0o600, 0o4755, 0o1777, 0]) {
      expectNoContent(await sandbox.post('chmod', { path: '/data/mode', mode }));
      expect(await sandbox.sh('stat -c %a /data/mode')).toBe(mode.toString(8));
    }
  });

  it('chown sets owner and group', async () => {
    await write('/data/owned', Buffer.from(''));
    expectNoContent(await sandbox.post('chown', { path: '/data/owned', uid: 1234, gid: 5678 }));
    expect(await sandbox.sh('stat -c %u:%g /data/owned')).toBe('1234:5678');
  });

  it('mkdir makes one directory, or all that are missing', async () => {
    expectNoContent(await sandbox.post('mkdir', { path: '/data/d' }));
    expectNoContent(await sandbox.post('mkdir', { path: '/data/deep/er/est', parents: true }));
    expectNoContent(await sandbox.post('mkdir', { path: '/data/deep/er/est', parents: true }));
    expectNoContent(await sandbox.post('mkdir', { path: '/data/d/e', parents: false }));
    expect(await sandbox.sh('stat -c "%F %a" /data/d /data/deep/er/est')).toBe(
      'directory 755\ndirectory 755',
    );
  });

  it('rename moves files and directories, and replaces a file', async () => {
    await sandbox.sh('cd /data && echo a > from && echo b > to && mkdir -p tree/in');
    expectNoContent(await sandbox.post('rename', { from: '/data/from', to: '/data/to' }));
    expect(await sandbox.sh('cat /data/to; test ! -e /data/from')).toBe('a');
    expectNoContent(await sandbox.post('rename', { from: '/data/tree', to: '/data/forest' }));
    expect(await sandbox.sh('ls /data/forest')).toBe('in');
  });

  it('copy copies a file with its mode, and a whole tree', async () => {
    await sandbox.sh(
      'cd /data && echo a > one && chmod 640 one && mkdir -p t/u && echo x > t/u/v && ln -s v t/u/w',
    );
    expectNoContent(await sandbox.post('copy', { from: '/data/one', to: '/data/two' }));
    expect(await sandbox.sh('cat /data/one /data/two; stat -c %a /data/two')).toBe('a\na\n640');
    expectNoContent(await sandbox.post('copy', { from: '/data/t', to: '/data/t2' }));
    expect(await sandbox.sh('cat /data/t2/u/v; readlink /data/t2/u/w; ls /data/t')).toBe('x\nv\nu');
  });

  it('symlink and readlink keep the target as it is', async () => {
    for (const target of ['/etc/passwd', '../relative/ü', 'dangling']) {
      const link_path = `/data/link-${target.length}`;
      expectNoContent(await sandbox.post('symlink', { target, link_path }));
      const answer = await sandbox.post('readlink', { path: link_path });
      expect(answer.status).toBe(200);
      expect(answer.json).toStrictEqual({ target });
    }
  });

  it('truncate cuts, lengthens and empties', async () => {
    await write('/data/cut', Buffer.from('0123456789'));
    for (const [size, text] of [
      [4, '0123'],
      [6, '0123\0\0'],
      [0, ''],
      [5 * 1024 * MIB, undefined],
    ] as const) {
      expectNoContent(await sandbox.post('truncate', { path: '/data/cut', size }));
      expect(await sandbox.sh('stat -c %s /data/cut')).toBe(String(size));
      if (text !== undefined) expect((await read('/data/cut')).toString()).toBe(text);
    }
  });
});

describe('list-dir', () => {
  it('tells every type apart, sorted by name', async () => {
    await sandbox.sh(`mkdir /data/kinds && cd /data/kinds && umask 022 && mkdir dir && printf 12345 > file && ln -s file link
      mkfifo fifo && mknod block b 7 99 && mknod char c 1 3 && chmod 4711 file && chmod 1777 dir
      python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
      touch -h -d @1700000000 dir file link fifo block char socket`);
    const answer = await sandbox.post('list-dir', { path: '/data/kinds' });
    expect(answer.status, answer.text).toBe(200);
    const entry = (name: string, type: string, size: unknown, mode: number) => ({
      name,
      type,
      is_dir: type === 'dir',
      is_symlink: type === 'symlink',
      size,
      mode,
      mtime_unix: 1_700_000_000,
    });
    expect(answer.json).toStrictEqual({
      entries: [
        entry('block', 'block', 0, 0o644),
        entry('char', 'char', 0, 0o644),
        entry('dir', 'dir', expect.any(Number), 0o1777),
        entry('fifo', 'fifo', 0, 0o644),
        entry('file', 'file', 5, 0o4711),
        entry('link', 'symlink', 4, 0o777),
        entry('socket', 'socket', 0, 0o755),
      ],
    });
  });

  it('sorts names by their bytes, hidden ones too', async () => {
    const names = ['Z', 'a', '.hidden', 'ä', '🏝', 'a b', '10', '9'];
    await sandbox.sh('mkdir /data/names');
    for (const name of names) await write(`/data/names/${name}`, Buffer.from(''));
    expect(await list('/data/names')).toEqual(['.hidden', '10', '9', 'Z', 'a', 'a b', 'ä', '🏝']);
  });

  it('lists an empty directory, and one with thousands of entries', async () => {
    await sandbox.sh('mkdir /data/empty /data/many && cd /data/many && seq -w 1 5000 | xargs touch');
    expect(await list('/data/empty')).toEqual([]);
    const many = await list('/data/many');
    expect([many.length, many[0], many.at(-1)]).toEqual([5000, '0001', '5000']);
  });
});

async function write(path: string, content: Buffer): Promise<void> {
  expectNoContent(await sandbox.post('write-file', { path, content_base64: content.toString('base64') }));
}

async function read(path: string): Promise<Buffer> {
  const { status, text, json } = await sandbox.post('read-file', { path });
  expect(status, text.slice(0, 500)).toBe(200);
  expect(Object.keys(json as object)).toEqual(['content_base64']);
  return Buffer.from((json as { content_base64: string }).content_base64, 'base64');
}

async function list(path: string): Promise<string[]> {
  const { status, text, json } = await sandbox.post('list-dir', { path });
  expect(status, text.slice(0, 500)).toBe(200);
  return (json as { entries: { name: string }[] }).entries.map(({ name }) => name);
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

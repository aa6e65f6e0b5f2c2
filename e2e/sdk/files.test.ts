import {
  chmod,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Lab, sh, thrown } from './lab.ts';
import type { Sandbox } from './lab.ts';

const MIB = 1024 * 1024;
let lab: Lab;
let sandbox: Sandbox;
let dir: string;

beforeAll(async () => {
  lab = await Lab.start();
  sandbox = await lab.create();
  dir = await mkdtemp(join(tmpdir(), 'atoll-sdk-files-'));
});
afterAll(async () => {
  await lab[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

it('write and read text', async () => {
  await sandbox.files.write('/tmp/text', 'grüße\n');
  expect(await sandbox.files.readText('/tmp/text')).toBe('grüße\n');
  expect(await sh(sandbox, 'cat /tmp/text')).toBe('grüße');
});

it('write and read bytes', async () => {
  const bytes = Uint8Array.from({ length: 70_000 }, (_, at) => (at * 7) % 256);
  await sandbox.files.write('/tmp/bytes', bytes);
  expect(await sandbox.files.read('/tmp/bytes')).toEqual(bytes);
  await sandbox.files.write('/tmp/blob', new Blob([bytes]));
  expect(await sandbox.files.readBase64('/tmp/blob')).toBe(Buffer.from(bytes).toString('base64'));
  await sandbox.files.writeBase64('/tmp/again', Buffer.from('again').toString('base64'));
  expect(await sandbox.files.readText('/tmp/again')).toBe('again');
});

it('a stream goes up and down', async () => {
  const piece = new Uint8Array(MIB).fill(7);
  async function* pieces() {
    for (let at = 0; at < 8; at++) yield await Promise.resolve(piece);
  }
  await sandbox.files.write('/tmp/big', pieces());
  await sandbox.files.write('/tmp/big2', ReadableStream.from(pieces()));
  expect(await sh(sandbox, 'stat -c %s /tmp/big /tmp/big2; cmp /tmp/big /tmp/big2')).toBe(
    `${8 * MIB}\n${8 * MIB}`,
  );
  let size = 0;
  for await (const chunk of await sandbox.files.readStream('/tmp/big')) {
    expect(chunk.every((byte) => byte === 7)).toBe(true);
    size += chunk.length;
  }
  expect(size).toBe(8 * MIB);
});

it('list shows every kind', async () => {
  await sh(
    sandbox,
    'mkdir -p /tmp/kinds/dir && cd /tmp/kinds && touch file && ln -s file symlink && mkfifo fifo && chmod 640 file',
  );
  const entries = await sandbox.files.list('/tmp/kinds');
  expect(entries.map(({ name, type }) => [name, type])).toEqual([
    ['dir', 'dir'],
    ['fifo', 'fifo'],
    ['file', 'file'],
    ['symlink', 'symlink'],
  ]);
  expect(entries[2]).toMatchObject({ mode: 0o640, size: 0, is_dir: false, is_symlink: false });
});

it('mkdir rename copy and remove', async () => {
  const { files } = sandbox;
  await files.mkdir('/tmp/tree/a/b', { parents: true });
  await files.write('/tmp/tree/a/b/file', 'content');
  await files.rename('/tmp/tree/a', '/tmp/tree/c');
  await files.copy('/tmp/tree/c', '/tmp/tree/d');
  expect(await files.readText('/tmp/tree/d/b/file')).toBe('content');
  await files.remove('/tmp/tree/c');
  await files.remove('/tmp/tree/not-there');
  expect((await files.list('/tmp/tree')).map(({ name }) => name)).toEqual(['d']);
});

it('symlink and readlink', async () => {
  await sandbox.files.symlink('/etc/hostname', '/tmp/link');
  expect(await sandbox.files.readlink('/tmp/link')).toBe('/etc/hostname');
});

it('truncate chmod and chown', async () => {
  await sandbox.files.write('/tmp/changed', 'longer than that');
  await sandbox.files.truncate('/tmp/changed', 6);
  await sandbox.files.chown('/tmp/changed', 12, 34);
  await sandbox.files.chmod('/tmp/changed', 0o4711);
  expect(await sh(sandbox, 'cat /tmp/changed; stat -c " %a %u %g" /tmp/changed')).toBe('longer 4711 12 34');
});

/** A tree with what an archive can get wrong. */
async function makeTree(root: string): Promise<void> {
  await mkdir(join(root, 'sub/deep'), { recursive: true });
  await writeFile(join(root, 'program'), '#!/bin/sh\n');
  await chmod(join(root, 'program'), 0o751);
  await link(join(root, 'program'), join(root, 'sub/hard'));
  await symlink('../program', join(root, 'sub/relative'));
  await symlink('/usr/bin/python3', join(root, 'absolute'));
  await symlink('nowhere', join(root, 'dangling'));
  await writeFile(join(root, 'sub/deep/empty'), '');
  await writeFile(join(root, `sub/${'long'.repeat(40)} ä`), Buffer.alloc(3 * MIB, 5));
  await chmod(join(root, 'sub/deep'), 0o700);
  await utimes(join(root, 'program'), 1_000_000_000, 1_000_000_000);
  await utimes(join(root, 'sub/deep'), 1_100_000_000, 1_100_000_000);
}

/** Everything of a tree that a copy is to keep. */
async function describeTree(root: string): Promise<unknown[]> {
  const paths = (await readdir(root, { recursive: true })).toSorted();
  const describe = async (path: string) => {
    const full = join(root, path);
    const found = await lstat(full);
    const content = found.isFile() ? (await readFile(full)).toString('base64').slice(0, 100) : '';
    const target = found.isSymbolicLink() ? await readlink(full) : '';
    const seconds = found.isDirectory() || found.isFile() ? Math.floor(found.mtimeMs / 1000) : 0;
    return [
      path,
      found.mode.toString(8),
      found.isFile() ? found.size : 0,
      found.isDirectory() ? 0 : found.nlink,
      seconds,
      content,
      target,
    ];
  };
  return Promise.all(paths.map(describe));
}

it('a folder goes up and down with links and modes', async () => {
  await makeTree(join(dir, 'up'));
  await sandbox.files.upload(join(dir, 'up'), '/srv/new/tree');
  const seen = await sh(
    sandbox,
    'cd /srv/new/tree && stat -c "%n %a %h %U %Y" program sub/deep && readlink absolute sub/relative',
  );
  expect(seen).toBe(
    'program 751 2 root 1000000000\nsub/deep 700 2 root 1100000000\n/usr/bin/python3\n../program',
  );
  await sandbox.files.download('/srv/new/tree', join(dir, 'down'));
  expect(await describeTree(join(dir, 'down'))).toEqual(await describeTree(join(dir, 'up')));
  // Once more, over what is there.
  await sandbox.files.download('/srv/new/tree', join(dir, 'down'));
  expect(await describeTree(join(dir, 'down'))).toEqual(await describeTree(join(dir, 'up')));
});

it('a file goes up and down', async () => {
  await writeFile(join(dir, 'tool'), Buffer.alloc(MIB, 'x'));
  await chmod(join(dir, 'tool'), 0o755);
  await sandbox.files.upload(join(dir, 'tool'), '/tmp/tool');
  expect(await sh(sandbox, 'stat -c "%a %s" /tmp/tool')).toBe(`755 ${MIB}`);
  await sandbox.files.download('/tmp/tool', join(dir, 'back'));
  expect((await readFile(join(dir, 'back'))).equals(await readFile(join(dir, 'tool')))).toBe(true);
  expect(((await stat(join(dir, 'back'))).mode & 0o777).toString(8)).toBe('755');
});

it('a missing file is an error with its errno', async () => {
  const { InvalidRequestError } = lab.sdk;
  const error = await thrown(sandbox.files.read('/no/such/file'));
  expect(error).toBeInstanceOf(InvalidRequestError);
  expect(error).toMatchObject({ status: 400, code: 'ENOENT' });
  expect(error.message).toContain('/no/such/file');
  expect(await thrown(sandbox.files.download('/no/such', join(dir, 'none')))).toMatchObject({
    code: 'ENOENT',
  });
  expect(await thrown(sandbox.files.upload(join(dir, 'none'), '/tmp/none'))).toMatchObject({
    code: 'ENOENT',
  });
  expect(await thrown(sandbox.files.list('/etc/hostname'))).toMatchObject({ code: 'ENOTDIR' });
});

describe('of this SDK alone', () => {
  it('a download writes nothing through a link that is there', async () => {
    await sh(sandbox, 'mkdir -p /srv/sly/sub && echo sly >/srv/sly/sub/file');
    await mkdir(join(dir, 'trap'));
    await mkdir(join(dir, 'elsewhere'));
    await symlink(join(dir, 'elsewhere'), join(dir, 'trap/sub'));
    const error = await thrown(sandbox.files.download('/srv/sly', join(dir, 'trap')));
    expect(error.message).toContain(join(dir, 'trap/sub'));
    expect(await readdir(join(dir, 'elsewhere'))).toEqual([]);
  });
});

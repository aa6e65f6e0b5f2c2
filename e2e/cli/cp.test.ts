import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import {
  chmod,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  readlink,
  symlink,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Daemon } from '../harness/daemon.ts';
import { transferSize } from '../harness/large.ts';
import { until } from '../harness/poll.ts';
import { createSandbox } from '../harness/sandbox.ts';
import type { Sandbox } from '../harness/sandbox.ts';
import { Cli } from './harness/cli.ts';
import { emptyFolder } from './harness/installed.ts';
import { Tmux } from './harness/tmux.ts';

const MIB = 1024 * 1024;
const LARGE_MIB = transferSize({ full: 1024, usual: 256 });
const LARGE = LARGE_MIB === 1024 ? '1.0 GiB' : `${LARGE_MIB}.0 MiB`;
const FILES = 5000;
const SOON_MS = 60_000;
const LARGE_MS = 400_000;

const stack = new AsyncDisposableStack();
let sandbox: Sandbox;
let cli: Cli;
let here: string;

beforeAll(async () => {
  const daemon = stack.use(await Daemon.start());
  cli = await Cli.of(daemon.url);
  sandbox = await createSandbox(daemon.client, { name: 'dev' });
  here = stack.use(await emptyFolder()).path;
});
afterAll(() => stack.disposeAsync());

const local = (name: string) => join(here, name);

describe('a file', () => {
  it('goes in and comes out with its mode and time', async () => {
    await writeFile(local('tool'), '#!/bin/sh\necho ran\n');
    await chmod(local('tool'), 0o751);
    await utimes(local('tool'), 0, 1_000_000_000);
    await cli.ok(['cp', local('tool'), 'dev:/root/tool']);
    expect(await sandbox.sh('/root/tool; stat -c "%a %Y %u" /root/tool')).toBe('ran\n751 1000000000 0');
    await cli.ok(['cp', 'dev:/root/tool', local('back')]);
    const { mode, mtimeMs } = await lstat(local('back'));
    expect({ mode: mode & 0o7777, mtimeMs }).toEqual({ mode: 0o751, mtimeMs: 1e12 });
    expect(await readFile(local('back'), 'utf8')).toBe('#!/bin/sh\necho ran\n');
  });

  it('goes into a folder that is there, takes the place of a file, and makes folders that are not', async () => {
    await writeFile(local('f'), 'new');
    await sandbox.sh('mkdir /root/there; echo old > /root/there/f; echo old > /root/old');
    await cli.ok(['cp', local('f'), 'dev:/root/there']);
    await cli.ok(['cp', local('f'), 'dev:/root/old']);
    await cli.ok(['cp', local('f'), 'dev:/root/a/b/c']);
    expect(await sandbox.sh('cat /root/there/f /root/old /root/a/b/c')).toBe('newnewnew');
    await mkdir(local('into'));
    await cli.ok(['cp', 'dev:root/old', local('into')]);
    expect(await readFile(local('into/old'), 'utf8')).toBe('new');
    expect(await sandbox.sh('find / -xdev -name "*.atoll-*"')).toBe('');
  });

  it('goes through stdin and stdout', async () => {
    await cli.run(['cp', '-', 'dev:/root/piped'], { input: 'through\0' });
    expect(await cli.run(['cp', 'dev:/root/piped', '-'])).toEqual({
      code: 0,
      stdout: 'through\0',
      stderr: '',
    });
  });

  it('that is not there, or has nowhere to go, is told in one line', async () => {
    const told = async (args: string[]) => {
      const { code, stderr } = await cli.run(['cp', ...args]);
      expect(stderr.split('\n')).toHaveLength(2);
      return `${code} ${stderr}`;
    };
    expect(await told([local('none'), 'dev:/root'])).toMatch(/^3 atoll: ENOENT.*none/);
    expect(await told(['dev:/none', here])).toMatch(/^3 atoll: .*\/none/);
    expect(await told([local('f'), local('g')])).toMatch(/^2 atoll: one of the two is in a sandbox/);
    expect(await told([local('f'), 'dev:'])).toMatch(/^2 atoll: dev: names no path/);
    expect(await told([local('f'), 'none:/x'])).toMatch(/^3 atoll: sandbox not found: none/);
    expect(await told([local('into'), 'dev:/root/old'])).toMatch(/^2 atoll: \/root\/old is a file/);
  });
});

it(
  `moves ${LARGE} both ways with equal digests, and shows how far it is`,
  async () => {
    const digest = await makeLarge(local('large'));
    await using tmux = await Tmux.start({ cols: 100, rows: 30 }, cli.env);
    await tmux.type(`atoll cp ${local('large')} dev:/root/large; echo "code $?"`);
    await tmux.shows(
      new RegExp(`\\[#+-+\\] {2}\\d+% {2}\\S+ MiB of ${LARGE} {2}\\S+ MiB/s {2}\\d+:\\d\\d`),
      SOON_MS,
    );
    await tmux.shows(new RegExp(`^/root/large: ${LARGE} in \\S+ s$`, 'm'), LARGE_MS);
    await tmux.shows(/^code 0$/m);
    await cli.run(['cp', 'dev:/root/large', local('large-back')], { withinMs: LARGE_MS });
    expect(await digestOf(local('large-back'))).toBe(digest);
    await sandbox.sh('rm /root/large');
  },
  LARGE_MS,
);

describe('a folder', () => {
  it(
    `of ${FILES} files goes in and comes out with equal digests, links, modes and times`,
    async () => {
      await makeTree(local('tree'));
      const before = await described(local('tree'));
      expect(before.length).toBeGreaterThan(FILES);
      await cli.ok(['cp', local('tree'), 'dev:/root/tree'], { withinMs: LARGE_MS });
      expect(await sandbox.sh('find /root/tree -type f | wc -l')).toBe(String(FILES + 2));
      expect(
        await sandbox.sh('readlink /root/tree/absolute; stat -c "%a %h %Y" /root/tree/hard /root/tree/d1'),
      ).toBe('/usr/bin/python3\n640 2 1000000000\n750 2 1100000000');
      await cli.ok(['cp', 'dev:/root/tree', local('tree-back')], { withinMs: LARGE_MS });
      expect(await described(local('tree-back'))).toEqual(before);
    },
    LARGE_MS,
  );

  it('is added to one that is there, or goes into it', async () => {
    await mkdir(local('small'));
    await writeFile(local('small/new'), 'new');
    await sandbox.sh('mkdir -p /root/have/small; echo kept > /root/have/small/kept; chmod 700 /root/have');
    await cli.ok(['cp', local('small'), 'dev:/root/have']);
    await cli.ok(['cp', `${local('small')}/.`, 'dev:/root/have']);
    expect(await sandbox.sh('cd /root/have; find . -type f | sort; stat -c %a .')).toBe(
      './new\n./small/kept\n./small/new\n700',
    );
    await cli.ok(['cp', 'dev:/root/have/.', local('small')]);
    expect((await readdir(local('small'))).sort()).toEqual(['new', 'small']);
  });

  it('of a sandbox reaches nothing outside of where it goes', async () => {
    await writeFile(local('victim'), 'kept');
    await mkdir(local('trap'));
    await symlink(here, local('trap/out'));
    await sandbox.sh('mkdir -p /root/hostile/out; echo overwritten > /root/hostile/out/victim');
    const { code, stderr } = await cli.run(['cp', 'dev:/root/hostile/.', local('trap')]);
    expect(stderr).toMatch(/^atoll: .*trap\/out is a link, where the copy has a folder\n$/);
    expect(code).toBe(1);
    expect(await readFile(local('victim'), 'utf8')).toBe('kept');
    await sandbox.sh('echo x > /root/set; chmod 6755 /root/set');
    await cli.ok(['cp', 'dev:/root/set', local('set')]);
    expect((await lstat(local('set'))).mode & 0o7777).toBe(0o755);
  });
});

describe('an interrupted copy', () => {
  it.each([
    ['into a sandbox', () => ['cp', local('endless'), 'dev:/root/half']],
    ['out of one', () => ['cp', 'dev:/root/endless', local('half')]],
  ])('%s leaves nothing half made', async (_what, args) => {
    await writeFile(local('endless'), '');
    await truncate(local('endless'), 20_000 * MIB);
    await sandbox.sh('truncate -s 20G /root/endless');
    const running = cli.start(args());
    const traces = async () => {
      const inside = await sandbox.sh('find /root -name ".half.atoll-*"');
      return [
        ...inside.split('\n'),
        ...(await readdir(here)).filter((name) => name.startsWith('.half.atoll-')),
      ].filter(Boolean);
    };
    await until('the copy is under way', async () => (await traces()).length > 0, SOON_MS);
    running.signal();
    const { code, stderr } = await running.ended();
    expect(stderr).toMatch(/^atoll: interrupted: what had arrived was removed.*\n$/);
    expect(code).toBe(130);
    expect(await traces()).toEqual([]);
    expect(await sandbox.sh('ls /root/half 2>/dev/null; true')).toBe('');
    expect(await readdir(here)).not.toContain('half');
  });
});

/** LARGE, no block of it like another. Answers its digest. */
async function makeLarge(path: string): Promise<string> {
  const hash = createHash('sha256');
  const block = Buffer.alloc(MIB);
  for (let at = 0; at < MIB; at += 4) block.writeUInt32LE(Math.imul(at, 2_654_435_761) >>> 0, at);
  await using file = await open(path, 'w');
  for (let count = 0; count < LARGE_MIB; count++) {
    block.writeUInt32LE(count, 0);
    hash.update(block);
    await file.write(block);
  }
  return hash.digest('hex');
}

async function makeTree(root: string): Promise<void> {
  const folders = 50;
  for (let folder = 0; folder < folders; folder++) {
    const path = join(root, `d${folder}`);
    await mkdir(path, { recursive: true });
    for (let file = 0; file < FILES / folders; file++) {
      const name = join(path, `file ${file} ü`);
      await writeFile(name, `${folder}/${file}\n`.repeat(file * 10));
      await chmod(name, [0o644, 0o600, 0o755, 0o444][file % 4] ?? 0);
    }
  }
  await writeFile(join(root, 'linked'), 'one file, two names');
  await chmod(join(root, 'linked'), 0o640);
  await link(join(root, 'linked'), join(root, 'hard'));
  await utimes(join(root, 'linked'), 0, 1_000_000_000);
  await symlink('d1/file 1 ü', join(root, 'relative'));
  await symlink('/usr/bin/python3', join(root, 'absolute'));
  await symlink('nowhere', join(root, 'dangling'));
  await mkdir(join(root, 'empty'));
  await chmod(join(root, 'd1'), 0o750);
  await utimes(join(root, 'd1'), 0, 1_100_000_000);
}

/** A line for everything in a tree, with all that a copy keeps of it. */
async function described(root: string): Promise<string[]> {
  const names = (await readdir(root, { recursive: true })).sort();
  const firsts = new Map<number, string>();
  const lines = [];
  for (const name of names) {
    const path = join(root, name);
    const { mode, mtimeMs, ino, nlink } = await lstat(path);
    const kind = mode & 0o170000;
    const first = nlink > 1 ? firsts.get(ino) : undefined;
    firsts.set(ino, name);
    const content = kind === 0o100000 ? await digestOf(path) : kind === 0o120000 ? await readlink(path) : '';
    lines.push(`${name} ${mode.toString(8)} ${Math.floor(mtimeMs)} ${first ?? ''} ${content}`);
  }
  return lines;
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

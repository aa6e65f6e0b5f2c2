import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Daemon } from './harness/daemon.ts';
import { until } from './harness/poll.ts';
import { createSandbox } from './harness/sandbox.ts';
import { makeAlpineLike } from './storage/alpine-like.ts';
import { findBusybox } from './storage/busybox.ts';
import { host, makeExt4 } from './storage/files.ts';

const MIB = 1024 * 1024;

const stack = new AsyncDisposableStack();
let dir: string;
let daemon: Daemon;

beforeAll(async () => {
  // A place that the daemon's user may enter.
  dir = await mkdtemp('/var/tmp/atoll-images-');
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  await chmod(dir, 0o755);
  daemon = await Daemon.start();
  stack.defer(() => daemon[Symbol.asyncDispose]());
});

afterAll(() => stack.disposeAsync());

const register = (id: string, path: string) => daemon.client.call('POST', '/images', { id, path });
const remove = (id: string) => daemon.client.call('DELETE', `/images/${id}`);
const list = async () => {
  const { json } = await daemon.client.call('GET', '/images');
  return (json as { images: { id: string; in_use_by: string[] | null }[] }).images;
};
const at = (name: string) => join(dir, name);

describe('what is refused', () => {
  it.each<[string, string, RegExp, (path: string) => Promise<unknown>]>([
    ['what is not there', 'IMAGE_SOURCE_MISSING', /is not there/, () => Promise.resolve()],
    ['a directory', 'IMAGE_SOURCE_NOT_FILE', /is a directory, not a regular file/, (path) => mkdir(path)],
    ['a FIFO', 'IMAGE_SOURCE_NOT_FILE', /is a FIFO/, (path) => host('mkfifo', path)],
    [
      'a device',
      'IMAGE_SOURCE_NOT_FILE',
      /is a character device/,
      (path) => host('mknod', path, 'c', '1', '5'),
    ],
    [
      'a symbolic link',
      'IMAGE_SOURCE_LINK',
      /symbolic link, to \/etc\/passwd/,
      (path) => symlink('/etc/passwd', path),
    ],
    [
      'a text',
      'IMAGE_SOURCE_NOT_EXT4',
      /no ext4 superblock/,
      (path) => writeFile(path, 'text\n'.repeat(1000)),
    ],
    ['nothing at all', 'IMAGE_SOURCE_NOT_EXT4', /no ext4 superblock/, (path) => writeFile(path, '')],
    [
      'a part of an ext4 file',
      'IMAGE_SOURCE_NOT_EXT4',
      /cut off, 4194304 bytes of a file system of 8388608/,
      async (path) => {
        await makeExt4(path, '8M');
        await truncate(path, 4 * MIB);
      },
    ],
    [
      "root's own file, with what mends it",
      'IMAGE_SOURCE_CLOSED',
      /cannot be read by daemon, .*chmod o\+r/,
      async (path) => {
        await makeExt4(path, '8M');
        await chmod(path, 0o600);
      },
    ],
  ])('%s', async (what, code, message, make) => {
    const path = at(what.replaceAll(/[^a-z]/g, '-'));
    await make(path);
    const { status, json } = await register('refused', path);
    const { error, code: answered } = json as { error: string; code: string };
    expect([status, answered]).toEqual([400, code]);
    expect(error).toMatch(message);
    expect(error).toContain(path);
    expect(await list()).toEqual([]);
    expect(await host('ls', join(daemon.stateDir, 'images'))).toBe('');
  });

  it('ids that are not names of files, and relative paths', async () => {
    await makeExt4(at('good.ext4'), '8M');
    for (const id of ['../escaped', '..', '.', 'a/b', '', '/a', 'a'.repeat(129)]) {
      const { status, text } = await register(id, at('good.ext4'));
      expect([status, text]).toEqual([400, expect.stringContaining('"id: takes 1 to 128 characters')]);
    }
    expect((await register('a', 'good.ext4')).text).toContain('path: takes an absolute path');
    expect(await list()).toEqual([]);
  });

  it('an image that nobody registered', async () => {
    const { status, text } = await daemon.client.call('POST', '/sandboxes', { image_id: '../none' });
    expect([status, text]).toEqual([404, expect.stringContaining('image not found: ../none')]);
    expect((await remove('none')).status).toBe(404);
  });
});

describe('an image', () => {
  it('boots without an agent in it, is held by its sandbox, and is there after a restart', async (context) => {
    const busybox = await findBusybox(dir).catch((error: unknown) => error as Error);
    if (busybox instanceof Error) return context.skip(`no static busybox can be had: ${busybox.message}`);
    await makeAlpineLike(dir, busybox);
    const { status, json } = await register('alpine', at('alpine.ext4'));
    expect(status).toBe(200);
    expect(json).toMatchObject({
      id: 'alpine',
      size_mib: 64,
      in_use_by: null,
      guest_agent_verified: false,
      verification_hint: expect.stringContaining('host/preflight.sh') as string,
    });
    expect((await register('alpine', at('alpine.ext4'))).status).toBe(409);
    // The copy is the daemon's own: the source may go.
    await rm(at('alpine.ext4'));

    const sandbox = await createSandbox(daemon.client, { image_id: 'alpine', mem_size_mib: 256 });
    expect(await sandbox.sh('cat /etc/os-release; touch /written; ls /')).toContain('ID=alpine-like');
    const { json: item } = await daemon.client.call('GET', sandbox.path);
    expect(item).toMatchObject({ image_id: 'alpine' });
    expect(await list()).toMatchObject([{ id: 'alpine', in_use_by: [`sandbox ${sandbox.id}`] }]);
    const refused = await remove('alpine');
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining(`sandbox ${sandbox.id}`)]);
    await sandbox.destroy();

    await daemon.stop();
    daemon = await daemon.restart();
    expect(await list()).toMatchObject([{ id: 'alpine', in_use_by: null }]);
    await using again = await createSandbox(daemon.client, { image_id: 'alpine', mem_size_mib: 256 });
    expect(await again.sh('ls /')).not.toContain('written');
    await again.destroy();
    expect((await remove('alpine')).status).toBe(204);
    expect(await list()).toEqual([]);
    expect(await host('ls', join(daemon.stateDir, 'images'))).toBe('');
  });

  it('of a whole Debian boots, as the file that it is a copy of, and says what to check it with', async () => {
    const source = realpathSync(
      join(process.env['ATOLL_CACHE_DIR'] ?? '/var/cache/atoll', 'current/rootfs.ext4'),
    );
    const answer = await register('debian', source);
    expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
    const { verification_hint } = answer.json as { verification_hint: string };
    const [, script = '', path = ''] = / bash (\S+) (\S+)$/.exec(verification_hint) ?? [];
    expect(await host('bash', script, path)).toContain('✓ /bin/sh');
    // Holes stay holes: the 8 GiB hold some 430 MiB.
    const blocks = async (file: string) => Number(await host('stat', '--format=%b', file));
    expect(await blocks(path)).toBeLessThan((await blocks(source)) * 1.1);
    const booting = createSandbox(daemon.client, { image_id: 'debian', mem_size_mib: 256 });
    const isHeld = async () =>
      (await list()).some(({ id, in_use_by }) => id === 'debian' && in_use_by !== null);
    await until('its boot is under way', isHeld, 20_000);
    expect((await remove('debian')).status).toBe(409);
    await using sandbox = await booting;
    expect(await sandbox.sh('. /etc/os-release; echo $ID')).toBe('debian');
    await sandbox.destroy();
    expect((await remove('debian')).status).toBe(204);
  });

  it('of another processor architecture is refused at its boot, and leaves nothing', async () => {
    await mkdir(at('arm/bin'), { recursive: true });
    await writeFile(at('arm/bin/sh'), ARM64_PROGRAM);
    await chmod(at('arm/bin/sh'), 0o755);
    await makeExt4(at('arm.ext4'), '16M', at('arm'));
    expect((await register('arm', at('arm.ext4'))).status).toBe(200);
    const { status, json } = await daemon.client.call('POST', '/sandboxes', {
      image_id: 'arm',
      mem_size_mib: 256,
    });
    expect([status, json]).toEqual([
      500,
      {
        code: 'BOOT_FAILED',
        error: expect.stringContaining("not a program of this host's processor architecture") as string,
      },
    ]);
    await daemon.assertClean();
    expect((await remove('arm')).status).toBe(204);
  });

  it('whose source changes while it is copied is refused, leaves nothing, and the log says how far it got', async () => {
    // Of another file system, with which no blocks can be shared.
    const other = at('other');
    await mkdir(other);
    await host('mount', '-t', 'tmpfs', '-o', 'size=1g', 'tmpfs', other);
    await using _mount = { [Symbol.asyncDispose]: () => host('umount', other).then(() => undefined) };
    const source = join(other, 'source.ext4');
    await makeExt4(source, '8M');
    await host('sh', '-c', `head -c 768M /dev/zero | tr '\\0' x >>${source}`);
    const { size } = await stat(source);

    const stopped = stopCopy(join(daemon.stateDir, 'images/changing.ext4.part'));
    const answer = register('changing', source);
    const copy = await stopped;
    // As many bytes as before: only the time of the last write tells.
    await host('sh', '-c', `printf y | dd of=${source} bs=1 seek=${16 * MIB} conv=notrunc`);
    const told = () =>
      daemon.log.lines().find(({ msg, image_id }) => msg === 'copying an image' && image_id === 'changing');
    await until('the log tells of the copy', () => told() !== undefined, 20_000);
    process.kill(copy, 'SIGCONT');

    const { status, json } = await answer;
    expect([status, json]).toMatchObject([400, { code: 'IMAGE_SOURCE_CHANGED' }]);
    const { copied_bytes, of_bytes } = told() as Record<string, number | string>;
    expect((json as { error: string }).error).toContain(
      `it had ${size} bytes and has ${size}, last written at 20`,
    );
    expect(copied_bytes).toBeGreaterThan(0);
    expect(copied_bytes).toBeLessThan(of_bytes as number);
    expect(await list()).toEqual([]);
    expect(await host('ls', join(daemon.stateDir, 'images'))).toBe('');
  });

  it('that does not fit is refused, and leaves nothing', async () => {
    await daemon.stop();
    const small = at('small');
    await mkdir(small);
    await host('mount', '-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', small);
    await using _mount = { [Symbol.asyncDispose]: () => host('umount', small).then(() => undefined) };
    await mkdir(at('large'));
    await writeFile(at('large/data'), randomBytes(24 * MIB));
    await makeExt4(at('large.ext4'), '64M', at('large'));
    await using other = await Daemon.start({ SERVICE_IMAGES_DIR: join(small, 'images') });
    const { status, json } = await other.client.call('POST', '/images', {
      id: 'large',
      path: at('large.ext4'),
    });
    expect([status, json]).toMatchObject([503, { code: 'INSUFFICIENT_DISK' }]);
    expect(await host('ls', join(small, 'images'))).toBe('');
    await other.stop();
  });
});

/**
 * Holds up the program that copies, which has that draft, once it has begun to; answers its process id. A shell does it, and
 * ahead of others: all is copied before this program may get a processor again.
 */
async function stopCopy(draft: string): Promise<number> {
  const script = `
    until copy=$(pgrep --exact --parent "$1" cp); do :; done
    while kill -STOP "$copy" || exit; [ "$(stat --format=%b "$2" 2>/dev/null || echo 0)" = 0 ]; do kill -CONT "$copy"; done
    echo "$copy"`;
  const bounded = ['20', 'nice', '--adjustment=-20', 'bash', '-c', script, '-', String(daemon.pid), draft];
  return Number(await host('timeout', ...bounded));
}

// The head of an ELF program (elf.h) of the architecture aarch64, and of no use beyond that.
const ARM64_PROGRAM = Buffer.alloc(4096);
ARM64_PROGRAM.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
ARM64_PROGRAM.writeUInt16LE(2, 16);
ARM64_PROGRAM.writeUInt16LE(0xb7, 18);
ARM64_PROGRAM.writeUInt32LE(1, 20);
ARM64_PROGRAM.writeUInt16LE(64, 52);
ARM64_PROGRAM.writeUInt16LE(56, 54);

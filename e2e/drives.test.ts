import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Daemon } from './harness/daemon.ts';
import { kibField, machinePid } from './harness/host.ts';
import { createSandbox } from './harness/sandbox.ts';
import type { CreateBody, Sandbox } from './harness/sandbox.ts';
import { bringUp, takeSnapshot } from './harness/snapshot.ts';
import { createDrive, deviceOf, listDrives, mountOf } from './storage/drives.ts';
import type { Drive } from './storage/drives.ts';
import { host } from './storage/files.ts';

const SIZES = { mem_size_mib: 192, vcpu_count: 1 };
let daemon: Daemon;

beforeAll(async () => {
  daemon = await Daemon.start();
});
afterAll(() => daemon[Symbol.asyncDispose]());
afterEach(async () => {
  const { json } = await daemon.client.call('GET', '/sandboxes');
  for (const { id } of (json as { sandboxes: { id: string }[] }).sandboxes)
    await daemon.client.call('DELETE', `/sandboxes/${id}?keep=false`);
});

type Wanted = NonNullable<CreateBody['drives']>;
const boot = (...drives: Wanted): Promise<Sandbox> => createSandbox(daemon.client, { ...SIZES, drives });
const read = ({ id }: Drive) => ({ id, read_only: true });
const ask = async (...drives: Wanted) => {
  const { status, json } = await daemon.client.call('POST', '/sandboxes', { ...SIZES, drives });
  return { status, ...(json as { id?: string; code?: string; error?: string }) };
};

describe('a drive', () => {
  it.each([0, -1, 7, 1.5, 1e9, Number.MAX_SAFE_INTEGER, '8', null, undefined])(
    'of %j MiB is refused',
    async (size_mib) => {
      const { status, text } = await daemon.client.call('POST', '/drives', { size_mib });
      expect([status, text]).toEqual([400, expect.stringContaining('size_mib: ')]);
      expect(await listDrives(daemon.client)).toEqual([]);
    },
  );

  it('of 8 TiB takes next to nothing, until it is written', async () => {
    const drive = await createDrive(daemon.client, 8 * 1024 * 1024);
    expect(drive).toMatchObject({ size_mib: 8 * 1024 * 1024, attached_to: [] });
    expect(
      parseInt(await host('du', '--summarize', '--block-size=1M', join(daemon.stateDir, 'drives')), 10),
    ).toBeLessThan(200);
    expect((await daemon.client.call('DELETE', `/drives/${drive.id}`)).status).toBe(204);
    expect((await daemon.client.call('DELETE', `/drives/${drive.id}`)).status).toBe(404);
    expect(await host('ls', join(daemon.stateDir, 'drives'))).toBe('');
  });

  it('is written in one sandbox and read in the next, in which it cannot be written', async () => {
    const drive = await createDrive(daemon.client, 64);
    const at = mountOf(drive);
    const writer = await boot({ id: drive.id });
    // Not synced: the end of the sandbox has to see to it.
    await writer.sh(`echo kept >${at}/file && head -c 20000000 /dev/urandom >${at}/random`);
    const digest = await writer.sh(`sha256sum <${at}/random`);
    expect(await writer.sh(`readlink -f ${deviceOf(drive)}`)).toBe(
      await writer.sh(`findmnt -no SOURCE ${at}`),
    );
    expect(await writer.sh('findmnt -no SOURCE /')).toBe('/dev/vda');
    expect(await listDrives(daemon.client)).toMatchObject([
      { id: drive.id, attached_to: [{ holder: `sandbox ${writer.id}`, read_only: false }] },
    ]);
    const refused = await daemon.client.call('DELETE', `/drives/${drive.id}`);
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining(`sandbox ${writer.id}`)]);
    await writer.destroy();

    const reader = await boot(read(drive));
    expect(await reader.sh(`cat ${at}/file; sha256sum <${at}/random`)).toBe(`kept\n${digest}`);
    const { json } = await daemon.client.call('GET', reader.path);
    expect(json).toMatchObject({ drives: [{ id: drive.id, read_only: true }] });
    // Not by the mount, nor by another one, nor past it.
    const device = await reader.sh(`findmnt -no SOURCE ${at}`);
    for (const attempt of [
      `touch ${at}/new`,
      `mount -o remount,rw ${at}`,
      `dd if=/dev/zero of=${device} bs=4096 count=1 oflag=direct`,
      `blockdev --setrw ${device} && dd if=/dev/zero of=${device} bs=4096 count=1 oflag=direct conv=fsync`,
    ])
      expect((await reader.exec('/bin/sh', ['-c', attempt])).exit_code).not.toBe(0);
    expect(await reader.sh(`cat ${at}/file`)).toBe('kept');
    await reader.destroy();
    expect((await daemon.client.call('DELETE', `/drives/${drive.id}`)).status).toBe(204);
  });

  it('is read by eight sandboxes at once, and written by none of the ninth', async () => {
    const drive = await createDrive(daemon.client, 16);
    const writer = await boot({ id: drive.id });
    await writer.sh(`echo shared >${mountOf(drive)}/file`);
    await writer.destroy();
    const readers = await Promise.all(Array.from({ length: 8 }, () => boot(read(drive))));
    const seen = await Promise.all(readers.map((reader) => reader.sh(`cat ${mountOf(drive)}/file`)));
    expect(seen).toEqual(readers.map(() => 'shared'));
    const { status, code, error = '' } = await ask({ id: drive.id });
    expect([status, code]).toEqual([409, 'DRIVE_CONFLICT']);
    for (const { id } of readers) expect(error).toContain(`sandbox ${id} (read-only)`);
    expect(error).toContain('a read-write attachment needs exclusive access');
  });

  it('has a cache that is flushed, and gives back the room of what is trimmed', async () => {
    const drive = await createDrive(daemon.client, 64);
    const at = mountOf(drive);
    const sandbox = await boot({ id: drive.id });
    // The kernel asks such a disk to flush; from others it takes every write for durable.
    const cache = `/sys/block/$(basename $(readlink -f ${deviceOf(drive)}))/queue/write_cache`;
    expect(await sandbox.sh(`cat ${cache}`)).toBe('write back');
    const file = (await host('find', join(daemon.stateDir, 'drives'), '-name', `${drive.id}*`)).trim();
    const mib = async () => Math.round(Number(await host('stat', '--format=%b', file)) / 2048);
    const before = await mib();
    await sandbox.sh(`head -c 20M /dev/urandom >${at}/large && sync -f ${at}/large`);
    expect(await mib()).toBeGreaterThanOrEqual(before + 20);
    await sandbox.sh(`rm ${at}/large && sync -f ${at} && fstrim ${at}`);
    expect(await mib()).toBeLessThan(before + 5);
  });

  it('stays when the daemon ends, and is then free', async () => {
    const drive = await createDrive(daemon.client, 16);
    const writer = await boot({ id: drive.id });
    await writer.sh(`echo kept >${mountOf(drive)}/file`);
    await daemon.stop();
    daemon = await daemon.restart();
    expect(await listDrives(daemon.client)).toContainEqual(drive);
    const reader = await boot(read(drive));
    expect(await reader.sh(`cat ${mountOf(drive)}/file`)).toBe('kept');
  });
});

describe('the end of a sandbox with a limit', () => {
  // A guest that may hold 90 MiB back, which at its rate take longer than an end may.
  const LIMITED = { mem_size_mib: 1024, vcpu_count: 1, rate_limit: { bandwidth_bytes_per_sec: 1_000_000 } };

  it('writes out all that its guest holds back', { timeout: 300_000 }, async () => {
    const drive = await createDrive(daemon.client, 128);
    const file = `${mountOf(drive)}/file`;
    const writer = await createSandbox(daemon.client, { ...LIMITED, drives: [{ id: drive.id }] });
    const digest = await writer.sh(`yes ${drive.id} | head -c 90M >${file}; sha256sum ${file}`);
    const memory = await writer.sh('cat /proc/meminfo');
    expect(kibField(memory, 'Dirty') + kibField(memory, 'Writeback')).toBeGreaterThan(60_000);
    expect((await writer.destroy()).status).toBe(204);
    const reader = await boot(read(drive));
    expect(await reader.sh(`sha256sum ${file}`)).toBe(digest);
  });
});

describe('who may attach', () => {
  it.each([
    { holder: 'read-only', request: 'read-only', status: 200 },
    { holder: 'read-only', request: 'read-write', status: 409 },
    { holder: 'read-write', request: 'read-only', status: 409 },
    { holder: 'read-write', request: 'read-write', status: 409 },
  ])('beside a sandbox that holds it $holder: $request is $status', async ({ holder, request, status }) => {
    const { id } = await createDrive(daemon.client, 8);
    await boot({ id, read_only: holder === 'read-only' });
    const answer = await ask({ id, read_only: request === 'read-only' });
    expect(answer.status).toBe(status);
    if (status === 409) expect(answer.error).toContain(`(${holder})`);
  });

  it('names of no drive are 404, and a drive twice is 400', async () => {
    const { id } = await createDrive(daemon.client, 8);
    expect(await ask({ id: 'none' })).toMatchObject({ status: 404, error: 'drive not found: none' });
    expect(await ask({ id }, { id })).toMatchObject({ status: 400 });
  });
});

describe('sixteen drives', () => {
  const DISKS = 'ls /sys/block | wc -l; ls /sys/class/scsi_host | wc -l';
  const namesIn = async (sandbox: Sandbox, drives: readonly Drive[]) =>
    (await sandbox.sh(drives.map((drive) => `cat ${mountOf(drive)}/name`).join('\n'))).split('\n');

  it('are all in one sandbox, and each in its place, also after a resume', async () => {
    const drives: Drive[] = [];
    while (drives.length < 16) drives.push(await createDrive(daemon.client, 8));
    const ids = drives.map(({ id }) => id);
    const sandbox = await boot(...ids.map((id) => ({ id })));
    await sandbox.sh(drives.map((drive) => `echo ${drive.id} >${mountOf(drive)}/name`).join('\n'));
    expect(await sandbox.sh(`findmnt -no SOURCE /; ${DISKS}`)).toBe('/dev/vda\n17\n1');
    const snapshot = await takeSnapshot(daemon.client, sandbox.id);
    const resumed = await bringUp(daemon.client, `${snapshot}/resume?retain_history=false`);
    expect(await namesIn(resumed, drives)).toEqual(ids);
    // What the guest has for a drive is what it has mounted there.
    for (const drive of drives)
      expect(await resumed.sh(`readlink -f ${deviceOf(drive)}`)).toBe(
        await resumed.sh(`findmnt -no SOURCE ${mountOf(drive)}`),
      );
    await resumed.sh(drives.map((drive) => `echo more >>${mountOf(drive)}/name`).join('\n'));
    await resumed.destroy();

    const next = await boot(...drives.toReversed().map(read));
    const written = ids.flatMap((id) => [id, 'more']);
    expect(await namesIn(next, drives)).toEqual(written);
    const { id } = await createDrive(daemon.client, 8);
    expect(await ask(...drives.map(read), { id })).toMatchObject({
      status: 400,
      code: 'INVALID_REQUEST',
      error: 'drives: takes at most 16 drives',
    });
  });

  it('are none where none were asked for, and neither is their controller', async () => {
    const sandbox = await boot();
    expect(await sandbox.sh(DISKS)).toBe('1\n0');
  });
});

describe('a machine that is killed while it writes', () => {
  it('leaves a drive that the next writer brings in order, and no reader is given before', async () => {
    const drive = await createDrive(daemon.client, 128);
    const at = mountOf(drive);
    const writer = await boot({ id: drive.id });
    await writer.sh(`echo durable >${at}/synced && sync -f ${at}/synced`);
    await writer.sh(
      `(while :; do echo x >>${at}/a; cp ${at}/a ${at}/b; rm ${at}/b; sync -f ${at}; done) >/dev/null 2>&1 &`,
    );
    await new Promise((resolve) => setTimeout(resolve, 1500));
    process.kill(await machinePid(daemon.stateDir, writer.id), 'SIGKILL');
    await expect.poll(async () => (await listDrives(daemon.client)).at(-1)?.attached_to).toEqual([]);

    expect(await ask(read(drive))).toMatchObject({ status: 409, code: 'DRIVE_NEEDS_RECOVERY' });
    const next = await boot({ id: drive.id });
    expect(await next.sh(`cat ${at}/synced`)).toBe('durable');
    expect(await next.sh('dmesg')).toContain('recovery complete');
    await next.destroy();
    const reader = await boot(read(drive));
    expect(await reader.sh(`cat ${at}/synced`)).toBe('durable');
    await reader.destroy();
    const file = await host('find', join(daemon.stateDir, 'drives'), '-name', `${drive.id}*`);
    await host('e2fsck', '-fn', file.trim());
  });
});

describe('a full disk', () => {
  it('of the guest is its own error, and one of the host no end of the sandbox', async () => {
    await daemon.stop();
    const place = await mkdtemp('/var/tmp/atoll-drives-');
    await using stack = new AsyncDisposableStack();
    stack.defer(() => rm(place, { recursive: true, force: true }));
    await chmod(place, 0o755);
    const small = join(place, 'small');
    await mkdir(small);
    await host('mount', '-t', 'tmpfs', '-o', 'size=48m', 'tmpfs', small);
    stack.defer(() => host('umount', '--lazy', small).then(() => undefined));
    daemon = await Daemon.start({ SERVICE_DRIVES_DIR: join(small, 'drives') });

    const [little, large] = [await createDrive(daemon.client, 8), await createDrive(daemon.client, 1024)];
    const sandbox = await boot({ id: little.id }, { id: large.id });
    const fill = (drive: Drive) =>
      sandbox.exec('/bin/sh', ['-c', `dd if=/dev/urandom of=${mountOf(drive)}/f bs=1M count=100 conv=fsync`]);
    const own = await fill(little);
    expect([own.exit_code, own.stderr]).toEqual([1, expect.stringContaining('No space left on device')]);
    // The device itself says so. What a program hears of its file system depends on what of that could not be written.
    const raw = `dd if=/dev/urandom of=${deviceOf(large)} bs=1M seek=512 count=100 oflag=direct`;
    const hosts = await sandbox.exec('/bin/sh', ['-c', raw]);
    expect([hosts.exit_code, hosts.stderr]).toEqual([1, expect.stringContaining('No space left on device')]);
    const refused = /No space left on device|Input\/output error|Read-only file system/;
    const heard = await fill(large);
    expect([heard.exit_code, heard.stderr]).toEqual([1, expect.stringMatching(refused)]);
    expect(await sandbox.sh('echo alive')).toBe('alive');
    const { status, json } = await daemon.client.call('POST', '/drives', { size_mib: 64 });
    expect([status, json]).toMatchObject([503, { code: 'INSUFFICIENT_DISK' }]);
    await sandbox.destroy();
    expect((await daemon.client.call('DELETE', `/drives/${large.id}`)).status).toBe(204);
    await createDrive(daemon.client, 64);
  });
});

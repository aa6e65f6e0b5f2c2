import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allCommandLines } from './harness/host.ts';
import { createSandbox } from './harness/sandbox.ts';
import { host } from './storage/files.ts';
import { MountLab } from './storage/mount-lab.ts';

let lab: MountLab;
beforeAll(async () => {
  lab = await MountLab.create();
});
afterAll(() => lab[Symbol.asyncDispose]());

describe('a bucket', () => {
  it('is read and written at its place, shown without its keys, and gone after its end', async () => {
    await lab.s3.put('data/hello', Buffer.from('from outside'));
    const mounted = await lab.mount('/srv/some/bucket/');
    expect(mounted).toEqual({
      id: expect.any(String) as string,
      bucket: 'data',
      endpoint: lab.s3.endpoint,
      mount_path: '/srv/some/bucket/',
      read_only: false,
    });
    expect(await lab.list()).toEqual([mounted]);
    expect(await lab.sandbox.sh('cat /srv/some/bucket/hello')).toBe('from outside');
    await lab.sandbox.sh('mkdir /srv/some/bucket/sub; echo from inside >/srv/some/bucket/sub/file');
    await lab.sandbox.sh('echo more >>/srv/some/bucket/sub/file');
    // Uploaded by then, however soon the end comes after the last write.
    expect((await lab.unmount(mounted)).status).toBe(204);
    expect((await lab.s3.get('data/sub/file')).toString()).toBe('from inside\nmore\n');
    expect(await lab.list()).toEqual([]);
    expect(await lab.traces()).toBe('');
    expect(await lab.sandbox.sh('ls /srv/some/bucket')).toBe('');
    expect((await lab.unmount(mounted)).status).toBe(404);
  });

  it('is only read when that is asked for', async () => {
    const mounted = await lab.mount('/srv/ro', { read_only: true });
    expect(await lab.sandbox.sh('cat /srv/ro/hello')).toBe('from outside');
    const { stderr, exit_code } = await lab.sandbox.exec('touch', ['/srv/ro/new']);
    expect([exit_code, stderr]).toEqual([1, expect.stringContaining('Read-only file system')]);
    await lab.unmount(mounted);
  });

  it('is in two sandboxes at once, and its place is one in each', async () => {
    await using other = await createSandbox(lab.daemon.client, { mem_size_mib: 512 });
    const [here, there] = [await lab.mount('/srv/both'), await lab.mount('/srv/both', {}, other)];
    // Listed before: what comes later has to be seen all the same.
    expect(await other.sh('ls /srv/both')).not.toContain('shared');
    await lab.sandbox.sh('echo shared >/srv/both/shared');
    await expect
      .poll(() => other.sh('cat /srv/both/shared 2>/dev/null || true'), { timeout: 60_000, interval: 500 })
      .toBe('shared');
    const again = await lab.attempt('/srv/../srv/both//');
    expect(again).toMatchObject({ status: 409, code: 'MOUNT_PATH_TAKEN' });
    expect(again.error).toContain('bucket data is mounted at /srv/both');
    expect(again.error).toContain(`DELETE ${lab.sandbox.path}/mounts/${here.id}`);
    await lab.unmount(here);
    await lab.unmount(there, other);
    expect(await lab.list(other)).toEqual([]);
  });
});

describe('the keys', () => {
  it('are on no disk of the host, in no list of processes, and in no log', async () => {
    const mounted = await lab.mount('/srv/secret');
    expect(
      await lab.sandbox.sh(`stat -c '%a %U' /run/atoll/mounts/${mounted.id}.conf /run/atoll/mounts`),
    ).toBe('600 root\n700 root');
    for (const key of [lab.s3.accessKey, lab.s3.secretKey]) {
      expect(await lab.sandbox.sh('cat /proc/[0-9]*/cmdline | tr "\\0" " "')).not.toContain(key);
      expect(await allCommandLines()).not.toContain(key);
      expect(lab.daemon.log.text()).not.toContain(key);
      // The guest's memory is a file there, and has them: what rclone works with.
      const found = await host(
        'sh',
        '-c',
        `grep -rlaF --exclude=memory -- ${key} ${lab.daemon.stateDir} || true`,
      );
      expect(found).toBe('');
    }
    await lab.unmount(mounted);
  });
});

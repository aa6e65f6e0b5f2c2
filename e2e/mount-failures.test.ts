import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OUTSIDE } from './network/outside.ts';
import { MountLab } from './storage/mount-lab.ts';

let lab: MountLab;
beforeAll(async () => {
  lab = await MountLab.create();
});
afterAll(() => lab[Symbol.asyncDispose]());

describe('what fails leaves nothing, and says why', () => {
  it.each<[string, object, RegExp]>([
    ['a wrong secret', { secret_key: 'f'.repeat(40) }, /^mount failed \(exit 1\): .*SignatureDoesNotMatch/s],
    ['a wrong key', { access_key: 'AKIANOBODY' }, /^mount failed \(exit \d\): ./s],
    ['a bucket that is not there', { bucket: 'none' }, /^mount failed \(exit 3\): .*directory not found/s],
    [
      'an endpoint that refuses',
      { endpoint: `http://${OUTSIDE[0]}:9` },
      /^mount failed \(exit 1\): .*refused/s,
    ],
  ])('%s', async (_what, more, message) => {
    const { status, code, error } = await lab.attempt('/srv/fails', more);
    expect([status, code]).toEqual([400, 'MOUNT_FAILED']);
    expect(error).toMatch(message);
    expect(await lab.list()).toEqual([]);
    expect(await lab.traces()).toBe('');
  });

  it('an endpoint that is silent', async () => {
    const { status, error } = await lab.attempt('/srv/fails', { endpoint: 'http://198.51.100.99:9000' });
    expect([status, error]).toEqual([400, expect.stringContaining('i/o timeout')]);
    expect(await lab.traces()).toBe('');
  });

  it('a place that cannot be made, and a mount tool that lies', async () => {
    await lab.sandbox.sh('touch /srv/file');
    expect(await lab.attempt('/srv/file/below')).toMatchObject({ status: 400, code: 'ENOTDIR' });
    const lie =
      'mv /usr/bin/rclone /usr/bin/rclone.real && printf "#!/bin/sh\\n[ \\$1 != mount ] && exec rclone.real \\"\\$@\\"; exit 0\\n" >/usr/bin/rclone && chmod +x /usr/bin/rclone';
    await lab.sandbox.sh(lie);
    expect(await lab.attempt('/srv/lie')).toMatchObject({ status: 500, code: 'MOUNT_MISSING' });
    await lab.sandbox.sh('rm /usr/bin/rclone');
    expect(await lab.attempt('/srv/lie')).toMatchObject({
      status: 400,
      error: expect.stringContaining('mount failed (exit 127): rclone: command not found') as string,
    });
    await lab.sandbox.sh('mv /usr/bin/rclone.real /usr/bin/rclone');
    expect(await lab.traces()).toBe('');
    expect(await lab.list()).toEqual([]);
  });

  it.each(['bucket', 'endpoint', 'access_key', 'secret_key', 'mount_path'])(
    '%s that is empty or missing',
    async (field) => {
      for (const value of ['', undefined])
        expect(await lab.attempt('/srv/fails', { [field]: value })).toMatchObject({
          status: 400,
          error: expect.stringContaining(`${field}: `) as string,
        });
    },
  );

  it('an endpoint that is no URL, and a key with a line break', async () => {
    expect(await lab.attempt('/srv/fails', { endpoint: OUTSIDE[0] })).toMatchObject({ status: 400 });
    expect(await lab.attempt('/srv/fails', { secret_key: 'a\nprovider = AWS' })).toMatchObject({
      status: 400,
    });
  });

  it('an end that the guest cannot bring about: the list is clear all the same', async () => {
    const mounted = await lab.mount('/srv/torn');
    await lab.sandbox.sh('pkill -9 -x rclone; umount -l /srv/torn');
    expect((await lab.unmount(mounted)).status).toBe(204);
    expect(await lab.list()).toEqual([]);
    expect(await lab.traces()).toBe('');
  });
});

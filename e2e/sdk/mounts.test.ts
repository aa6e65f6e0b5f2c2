import { afterAll, beforeAll, expect, it } from 'vitest';
import { MountLab } from '../storage/mount-lab.ts';
import { importSdk } from './packed.ts';
import { sh, thrown } from './lab.ts';

let lab: MountLab;

beforeAll(async () => {
  lab = await MountLab.create();
});
afterAll(() => lab[Symbol.asyncDispose]());

it('mount list and unmount a bucket', async () => {
  const { Sandbox, ConflictError, NotFoundError } = await importSdk();
  const sandbox = await Sandbox.get(lab.sandbox.id, { url: lab.daemon.url, token: '' });
  const { endpoint, accessKey: access_key, secretKey: secret_key } = lab.s3;
  const body = { bucket: 'data', endpoint, access_key, secret_key, mount_path: '/srv/data' };
  const mount = await sandbox.mounts.create(body);
  expect(mount).toEqual({
    id: mount.id,
    bucket: 'data',
    endpoint,
    mount_path: '/srv/data',
    read_only: false,
  });
  expect(await sandbox.mounts.list()).toEqual([mount]);
  const taken = await thrown(sandbox.mounts.create(body));
  expect(taken).toBeInstanceOf(ConflictError);
  expect(taken.message).not.toContain(secret_key);
  await sh(sandbox, 'echo from inside >/srv/data/file');
  await sandbox.mounts.delete(mount.id);
  expect((await lab.s3.get('data/file')).toString()).toBe('from inside\n');
  expect(await sandbox.mounts.list()).toEqual([]);
  expect(await thrown(sandbox.mounts.delete(mount.id))).toBeInstanceOf(NotFoundError);
});

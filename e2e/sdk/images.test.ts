import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeExt4 } from '../storage/files.ts';
import { Lab, thrown } from './lab.ts';

const stack = new AsyncDisposableStack();
let lab: Lab;
let dir: string;

beforeAll(async () => {
  // A place that the daemon's user may enter.
  dir = await mkdtemp('/var/tmp/atoll-sdk-images-');
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  await chmod(dir, 0o755);
  lab = stack.use(await Lab.start());
});
afterAll(() => stack.disposeAsync());

it('register boot list and delete an image', async () => {
  const { Image, ConflictError, NotFoundError } = lab.sdk;
  const connect = { client: lab.client };
  const tree = join(dir, 'tree');
  for (const each of ['bin', 'dev', 'proc', 'sys', 'run', 'tmp', 'etc', 'root', 'mnt'])
    await mkdir(join(tree, each), { recursive: true });
  await writeFile(join(tree, 'etc/whose'), 'the image');
  await makeExt4(join(dir, 'small.ext4'), '32M', tree);
  const image = await Image.register({ id: 'small', path: join(dir, 'small.ext4') }, connect);
  expect(image).toMatchObject({ id: 'small', size_mib: 32, in_use_by: null, guest_agent_verified: false });
  const sandbox = await lab.create({ image_id: 'small' });
  // No program is in it; the agent is not of the image.
  expect(await sandbox.files.readText('/etc/whose')).toBe('the image');
  expect((await Image.list(connect)).map(({ id, in_use_by }) => [id, in_use_by])).toEqual([
    ['small', [`sandbox ${sandbox.id}`]],
  ]);
  expect(await thrown(image.delete())).toBeInstanceOf(ConflictError);
  await sandbox.stop({ keep: false });
  await image.delete();
  expect(await thrown(Image.delete('small', connect))).toBeInstanceOf(NotFoundError);
  expect(await thrown(lab.create({ image_id: 'small' }))).toMatchObject({
    message: 'image not found: small',
  });
});

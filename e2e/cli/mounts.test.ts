import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { allCommandLines } from '../harness/host.ts';
import { MountLab } from '../storage/mount-lab.ts';
import { Cli } from './harness/cli.ts';
import { emptyFolder } from './harness/installed.ts';

let lab: MountLab;
let cli: Cli;

beforeAll(async () => {
  lab = await MountLab.create();
  cli = await Cli.of(lab.daemon.url);
});
afterAll(() => lab[Symbol.asyncDispose]());

it('a bucket is mounted with keys that no command line shows, listed, and unmounted', async () => {
  const { endpoint, accessKey, secretKey } = lab.s3;
  const args = ['mount', 'create', '--endpoint', endpoint, lab.sandbox.id, 'data', '/srv/data'];
  expect(await cli.run(args)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('AWS_ACCESS_KEY_ID') as string,
  });

  const env = { AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: secretKey };
  const running = cli.start(args, { env });
  expect(await allCommandLines()).not.toContain(secretKey);
  const { code, stdout, stderr } = await running.ended();
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const id = stdout.trim();
  expect(await cli.json(['mount', 'ls', lab.sandbox.id])).toEqual([
    { id, bucket: 'data', endpoint, mount_path: '/srv/data', read_only: false },
  ]);
  expect(await lab.sandbox.sh('mountpoint /srv/data')).toContain('is a mountpoint');
  expect(await cli.run(args, { env })).toMatchObject({ code: 4 });
  await cli.ok(['mount', 'rm', lab.sandbox.id, id]);
  expect(await cli.json(['mount', 'ls', lab.sandbox.id])).toEqual([]);
});

it('keys come from a file or stdin, too, and no failure repeats them', async () => {
  await using folder = await emptyFolder();
  const { endpoint, accessKey, secretKey } = lab.s3;
  const file = join(folder.path, 'credentials');
  await writeFile(
    file,
    `[default]\naws_access_key_id = ${accessKey}\naws_secret_access_key = ${secretKey}\n`,
  );
  const args = ['mount', 'create', '--endpoint', endpoint, '--read-only', '--keys-file'];
  const id = await cli.ok([...args, file, lab.sandbox.id, 'data', '/srv/ro']);
  await cli.ok(['mount', 'rm', lab.sandbox.id, id]);
  const wrong = JSON.stringify({ access_key: accessKey, secret_key: 'not-the-secret-of-the-store' });
  const { code, stderr } = await cli.run([...args, '-', lab.sandbox.id, 'data', '/srv/ro'], { input: wrong });
  expect(code).not.toBe(0);
  expect(stderr.split('\n')).toHaveLength(2);
  for (const key of ['not-the-secret-of-the-store', secretKey]) expect(stderr).not.toContain(key);
});

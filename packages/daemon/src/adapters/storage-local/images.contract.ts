import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { imagesSuite } from '../../testing/suites/images.ts';
import type { Source } from '../../testing/suites/images.ts';
import { LocalImages } from './images.ts';

const execute = promisify(execFile);

imagesSuite('LocalImages', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'atoll-images-'));
  const store = new LocalImages(join(dir, 'images'));
  const makeExt4 = (path: string) => execute('/sbin/mke2fs', ['-q', '-t', 'ext4', path, '8M']);
  const makers: Record<Source, (path: string) => Promise<unknown>> = {
    ext4: makeExt4,
    text: (path) => writeFile(path, 'not a file system\n'.repeat(1000)),
    empty: (path) => writeFile(path, ''),
    'cut off': async (path) => {
      await makeExt4(path);
      await truncate(path, 4 * 1024 * 1024);
    },
    directory: (path) => mkdir(path),
    FIFO: (path) => execute('mkfifo', [path]),
    link: async (path) => {
      await makeExt4(`${path}.file`);
      await symlink(`${path}.file`, path);
    },
    missing: () => Promise.resolve(),
  };
  let count = 0;
  return {
    store,
    reopen: () => Promise.resolve(new LocalImages(store.imagesDir)),
    source: async (what) => {
      const path = join(dir, `source-${(count += 1)}`);
      await makers[what](path);
      return path;
    },
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  };
});

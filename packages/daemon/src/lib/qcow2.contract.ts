import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from './run.ts';
import { emptyLayer, readLayerHeader } from './qcow2.ts';

const { signal } = new AbortController();
let dir = '';

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'atoll-qcow2-'));
});
afterAll(() => rm(dir, { recursive: true }));

const qemuImg = (...args: string[]) => run('qemu-img', args, signal);

test.each(['64M', '513M', '8G', '6T'])(
  'an empty layer over %s is what qemu-img takes for one',
  async (size) => {
    const [raw, base, layer] = ['raw', 'base', 'layer'].map((name) => join(dir, `${name}-${size}`));
    if (!raw || !base || !layer) throw new Error('three names');
    await qemuImg('create', '-q', '-f', 'raw', raw, size);
    await qemuImg('create', '-q', '-f', 'qcow2', '-F', 'raw', '-b', raw, base);
    const { size: bytes, ...under } = await readLayerHeader(base);
    expect(under).toEqual({ backing: raw, backingFormat: 'raw' });
    await writeFile(layer, emptyLayer(bytes, base));
    expect(await readLayerHeader(layer)).toEqual({ size: bytes, backing: base, backingFormat: 'qcow2' });
    await qemuImg('check', '-q', layer);
    const info = JSON.parse(await qemuImg('info', '--output=json', layer)) as Record<string, unknown>;
    expect(info).toMatchObject({
      'virtual-size': Number(bytes),
      'full-backing-filename': base,
      'backing-filename-format': 'qcow2',
    });
  },
);

test('what is no layer is refused', async () => {
  const path = join(dir, 'none');
  await writeFile(path, 'no layer');
  await expect(readLayerHeader(path)).rejects.toThrow('is no qcow2 layer');
});

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ImageStore } from '../../ports/images.ts';

/** What lies on the host where an image is to be made from. */
export type Source = 'ext4' | 'text' | 'empty' | 'cut off' | 'directory' | 'FIFO' | 'link' | 'missing';

export interface ImagesUnderTest extends AsyncDisposable {
  readonly store: ImageStore;
  /** Another store on what this one has, as after a restart. */
  readonly reopen: () => Promise<ImageStore>;
  /** Makes a source, of 8 MiB where it is an ext4 file, and answers its path. */
  readonly source: (what: Source) => Promise<string>;
}

/** What every ImageStore keeps. */
export function imagesSuite(name: string, setUp: () => Promise<ImagesUnderTest>): void {
  describe(name, () => {
    const { signal } = new AbortController();
    let it: ImagesUnderTest;
    beforeEach(async () => {
      it = await setUp();
      expect(await it.store.load()).toEqual([]);
    });
    afterEach(() => it[Symbol.asyncDispose]());

    const add = async (id: string, what: Source) =>
      it.store.add(id, await it.source(what), () => undefined, signal);

    test('an ext4 file becomes an image that outlives a restart, until it is removed', async () => {
      const image = await add('b.1', 'ext4');
      expect(image).toMatchObject({ id: 'b.1', sizeMib: 8 });
      expect(Math.abs(image.createdAtUnix - Date.now() / 1000)).toBeLessThan(60);
      const other = await add('a', 'ext4');
      const again = await it.reopen();
      expect(await again.load()).toEqual([other, image]);
      await again.remove('b.1');
      await again.remove('b.1');
      expect(await (await it.reopen()).load()).toEqual([other]);
    });

    test.each<[Source, Readonly<Record<string, unknown>>]>([
      ['missing', { kind: 'missing' }],
      ['link', { kind: 'link' }],
      ['directory', { kind: 'not_file', type: 'a directory' }],
      ['FIFO', { kind: 'not_file', type: 'a FIFO' }],
      ['text', { kind: 'not_ext4' }],
      ['empty', { kind: 'not_ext4' }],
      ['cut off', { kind: 'not_ext4', reason: expect.stringContaining('cut off') as string }],
    ])('%s: refused, and nothing is left', async (what, fault) => {
      await expect(add('a', what)).rejects.toMatchObject({ fault });
      expect(await (await it.reopen()).load()).toEqual([]);
    });

    test('what was given up leaves nothing', async () => {
      const given = AbortSignal.abort(new Error('given up'));
      await expect(it.store.add('a', await it.source('ext4'), () => undefined, given)).rejects.toThrow(
        'given up',
      );
      expect(await (await it.reopen()).load()).toEqual([]);
    });
  });
}

import type { ImageFault } from '../ports/images.ts';
import { FakeImages } from './fake-images.ts';
import { imagesSuite } from './suites/images.ts';
import type { Source } from './suites/images.ts';

imagesSuite('the fake ImageStore', () => {
  const store = new FakeImages();
  const found: Record<Exclude<Source, 'missing'>, number | ImageFault> = {
    ext4: 8 * 1024 * 1024,
    text: { kind: 'not_ext4', reason: 'it is text' },
    empty: { kind: 'not_ext4', reason: 'it is empty' },
    'cut off': { kind: 'not_ext4', reason: 'it is cut off' },
    directory: { kind: 'not_file', type: 'a directory' },
    FIFO: { kind: 'not_file', type: 'a FIFO' },
    link: { kind: 'link', target: '/elsewhere' },
  };
  return Promise.resolve({
    store,
    reopen: () => Promise.resolve(new FakeImages(store)),
    source: (what) => {
      if (what !== 'missing') store.host.set(`/${what}`, found[what]);
      return Promise.resolve(`/${what}`);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  });
});

import { ImageRefused } from '../ports/images.ts';
import type { CopyProgress, ImageFault, ImageStore, StoredImage } from '../ports/images.ts';

const MIB = 1024 * 1024;

/** Images without files; `images.contract.ts` holds it to what the real one does. */
export class FakeImages implements ImageStore {
  readonly imagesDir = '/images';
  /** What the host has: the size in bytes of an ext4 file, or what is wrong with what is there. */
  readonly host = new Map<string, number | ImageFault>();
  readonly #images: Map<string, StoredImage>;

  /** @param before what it shares with the one before it, as a restarted daemon does. */
  constructor(before?: FakeImages) {
    this.#images = before === undefined ? new Map<string, StoredImage>() : before.#images;
  }

  load(): Promise<readonly StoredImage[]> {
    return Promise.resolve([...this.#images.values()].sort((a, b) => (a.id < b.id ? -1 : 1)));
  }

  add(id: string, source: string, _onProgress: CopyProgress, signal: AbortSignal): Promise<StoredImage> {
    return Promise.try(() => {
      signal.throwIfAborted();
      const found = this.host.get(source) ?? { kind: 'missing' as const };
      if (typeof found !== 'number') throw new ImageRefused(source, found);
      const image = {
        id,
        path: `${this.imagesDir}/${id}.ext4`,
        sizeMib: Math.ceil(found / MIB),
        createdAtUnix: Math.floor(Date.now() / 1000),
      };
      this.#images.set(id, image);
      return image;
    });
  }

  remove(id: string): Promise<void> {
    this.#images.delete(id);
    return Promise.resolve();
  }
}

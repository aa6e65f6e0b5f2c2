import type { RegisterImage } from '@atoll/contract/images';
import type { Logger } from 'pino';
import { AtollError } from '../lib/errors.ts';
import { ImageRefused } from '../ports/images.ts';
import type { ImageFault, ImageStore, StoredImage } from '../ports/images.ts';
import type { Holders } from './holders.ts';

/** An image with who boots from it. */
export interface Image extends StoredImage {
  readonly heldBy: readonly string[];
}

/** Registers, lists and removes root file systems that sandboxes can boot from. */
export class Images {
  readonly #store: ImageStore;
  readonly #holders: Holders;
  readonly #log: Logger;
  readonly #images: Map<string, StoredImage>;
  /** Ids of copies under way. */
  readonly #coming = new Set<string>();

  private constructor(store: ImageStore, holders: Holders, log: Logger, images: Map<string, StoredImage>) {
    this.#store = store;
    this.#holders = holders;
    this.#log = log;
    this.#images = images;
  }

  static async open(store: ImageStore, holders: Holders, log: Logger): Promise<Images> {
    const images = await store.load();
    return new Images(store, holders, log, new Map(images.map((image) => [image.id, image])));
  }

  /**
   * Copies a file of the host and keeps it under an id. Throws IMAGE_ID_TAKEN, one of the IMAGE_SOURCE faults, or
   * INSUFFICIENT_DISK. Aborting undoes it.
   */
  async register({ id, path }: RegisterImage, signal: AbortSignal): Promise<Image> {
    if (this.#images.has(id) || this.#coming.has(id)) throw AtollError.of('IMAGE_ID_TAKEN', { id });
    this.#coming.add(id);
    try {
      const onProgress = (done: number, total: number) =>
        this.#log.info({ image_id: id, copied_bytes: done, of_bytes: total }, 'copying an image');
      const image = await this.#store.add(id, path, onProgress, signal);
      this.#images.set(id, image);
      this.#log.info({ image_id: id, size_mib: image.sizeMib }, 'image registered');
      return { ...image, heldBy: [] };
    } catch (error) {
      if (error instanceof ImageRefused) throw this.#refusal(path, error.fault, error);
      throw error;
    } finally {
      this.#coming.delete(id);
    }
  }

  /** Sorted by id. */
  list(): Image[] {
    const images = [...this.#images.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    return images.map((image) => ({ ...image, heldBy: this.#holders.ofImage(image.id) }));
  }

  /** The image a sandbox asks for. Throws NOT_FOUND. */
  find(id: string): StoredImage {
    const image = this.#images.get(id);
    if (image === undefined) throw AtollError.of('NOT_FOUND', { kind: 'image', id });
    return image;
  }

  /** Throws NOT_FOUND, or IMAGE_IN_USE while anything boots or may boot from it. */
  async remove(id: string): Promise<void> {
    this.find(id);
    const holders = this.#holders.ofImage(id);
    if (holders.length > 0) throw AtollError.of('IMAGE_IN_USE', { id, holders });
    // Gone from here first: a create that comes now does not find it any more.
    this.#images.delete(id);
    await this.#store.remove(id);
    this.#log.info({ image_id: id }, 'image removed');
  }

  #refusal(path: string, fault: ImageFault, cause: unknown): AtollError {
    switch (fault.kind) {
      case 'missing':
        return AtollError.of('IMAGE_SOURCE_MISSING', { path }, cause);
      case 'closed':
        return AtollError.of('IMAGE_SOURCE_CLOSED', { path, user: fault.user }, cause);
      case 'link':
        return AtollError.of('IMAGE_SOURCE_LINK', { path, target: fault.target }, cause);
      case 'not_file':
        return AtollError.of('IMAGE_SOURCE_NOT_FILE', { path, type: fault.type }, cause);
      case 'not_ext4':
        return AtollError.of('IMAGE_SOURCE_NOT_EXT4', { path, reason: fault.reason }, cause);
      case 'changed': {
        const { hadBytes, hasBytes, writtenAt } = fault;
        const operands = { path, hadBytes, hasBytes, writtenAt: writtenAt.toISOString() };
        return AtollError.of('IMAGE_SOURCE_CHANGED', operands, cause);
      }
      case 'no_room': {
        const { needBytes, freeBytes } = fault;
        return AtollError.of(
          'INSUFFICIENT_DISK',
          { needBytes, freeBytes, path: this.#store.imagesDir },
          cause,
        );
      }
    }
  }
}

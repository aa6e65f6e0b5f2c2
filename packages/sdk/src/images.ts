import { Atoll } from './atoll.ts';
import type { ConnectOptions } from './atoll.ts';
import type { RegisterImage, Image as ImageInfo } from './generated/api.ts';
import { withFields } from './handle.ts';
import type { Handle } from './handle.ts';

/** A root file system that sandboxes can boot from. */
export class Image {
  readonly id: string;
  readonly #atoll: Atoll;

  private constructor(atoll: Atoll, id: string) {
    this.#atoll = atoll;
    this.id = id;
  }

  /** Copies an ext4 file of the daemon's host. */
  static async register(
    body: RegisterImage,
    options: ConnectOptions = {},
  ): Promise<Handle<Image, ImageInfo>> {
    const atoll = Atoll.of(options);
    const info = await atoll.call('post', '/images', { body, ...options });
    return withFields(new Image(atoll, info.id), info);
  }

  static async list(options: ConnectOptions = {}): Promise<Handle<Image, ImageInfo>[]> {
    const atoll = Atoll.of(options);
    const { images } = await atoll.call('get', '/images', options);
    return images.map((info) => withFields(new Image(atoll, info.id), info));
  }

  /** Throws ConflictError while a sandbox or snapshot stands on it. */
  static async delete(id: string, options: ConnectOptions = {}): Promise<void> {
    await Atoll.of(options).call('delete', '/images/{id}', { params: { id }, ...options });
  }

  async delete(options: ConnectOptions = {}): Promise<void> {
    await Image.delete(this.id, { ...options, client: this.#atoll });
  }
}

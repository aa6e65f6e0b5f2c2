import { Atoll } from './atoll.ts';
import type { ConnectOptions } from './atoll.ts';
import type { CreateDrive, Drive as DriveInfo } from './generated/api.ts';
import { withFields } from './handle.ts';
import type { Handle } from './handle.ts';

/** A persistent disk, to be attached when a sandbox is created. */
export class Drive {
  readonly id: string;
  readonly #atoll: Atoll;

  private constructor(atoll: Atoll, id: string) {
    this.#atoll = atoll;
    this.id = id;
  }

  /** Makes a drive with an empty ext4 file system of `size_mib`. */
  static async create(body: CreateDrive, options: ConnectOptions = {}): Promise<Handle<Drive, DriveInfo>> {
    const atoll = Atoll.of(options);
    const info = await atoll.call('post', '/drives', { body, ...options });
    return withFields(new Drive(atoll, info.id), info);
  }

  static async list(options: ConnectOptions = {}): Promise<Handle<Drive, DriveInfo>[]> {
    const atoll = Atoll.of(options);
    const { drives } = await atoll.call('get', '/drives', options);
    return drives.map((info) => withFields(new Drive(atoll, info.id), info));
  }

  /** Throws ConflictError while a sandbox or snapshot holds it. */
  static async delete(id: string, options: ConnectOptions = {}): Promise<void> {
    await Atoll.of(options).call('delete', '/drives/{id}', { params: { id }, ...options });
  }

  async delete(options: ConnectOptions = {}): Promise<void> {
    await Drive.delete(this.id, { ...options, client: this.#atoll });
  }
}

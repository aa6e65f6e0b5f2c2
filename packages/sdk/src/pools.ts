import { Atoll } from './atoll.ts';
import type { ConnectOptions } from './atoll.ts';
import type { CreatePool, Pool as PoolInfo } from './generated/api.ts';
import { withFields } from './handle.ts';
import type { Handle } from './handle.ts';

/** Warm sandboxes of one profile, which a create of that profile gets. */
export class Pool {
  readonly id: string;
  readonly #atoll: Atoll;

  private constructor(atoll: Atoll, id: string) {
    this.#atoll = atoll;
    this.id = id;
  }

  /** Makes a pool; its instances become ready in the background. */
  static async create(body: CreatePool, options: ConnectOptions = {}): Promise<Handle<Pool, PoolInfo>> {
    const atoll = Atoll.of(options);
    const info = await atoll.call('post', '/pools', { body, ...options });
    return withFields(new Pool(atoll, info.id), info);
  }

  static async list(options: ConnectOptions = {}): Promise<Handle<Pool, PoolInfo>[]> {
    const atoll = Atoll.of(options);
    const { pools } = await atoll.call('get', '/pools', options);
    return pools.map((info) => withFields(new Pool(atoll, info.id), info));
  }

  /** Ends the pool and its warm instances; sandboxes that came from it stay. */
  static async delete(id: string, options: ConnectOptions = {}): Promise<void> {
    await Atoll.of(options).call('delete', '/pools/{id}', { params: { id }, ...options });
  }

  async delete(options: ConnectOptions = {}): Promise<void> {
    await Pool.delete(this.id, { ...options, client: this.#atoll });
  }
}

import type { Atoll } from './atoll.ts';
import type { CallOptions } from './deadline.ts';
import type { CreateMount, Mount } from './generated/api.ts';

/** Buckets of an object store at paths of one sandbox. */
export class Mounts {
  readonly #atoll: Atoll;
  readonly #sandbox: string;

  /** @internal */
  constructor(atoll: Atoll, sandbox: string) {
    this.#atoll = atoll;
    this.#sandbox = sandbox;
  }

  /** Mounts a bucket. The keys are written into the guest, and kept nowhere else. */
  create(body: CreateMount, options: CallOptions = {}): Promise<Mount> {
    return this.#atoll.call('post', '/sandboxes/{id}/mounts', {
      params: { id: this.#sandbox },
      body,
      ...options,
    });
  }

  async list(options: CallOptions = {}): Promise<Mount[]> {
    const { mounts } = await this.#atoll.call('get', '/sandboxes/{id}/mounts', {
      params: { id: this.#sandbox },
      ...options,
    });
    return mounts;
  }

  /** Unmounts, once everything written has reached the bucket. */
  async delete(mountId: string, options: CallOptions = {}): Promise<void> {
    await this.#atoll.call('delete', '/sandboxes/{id}/mounts/{mount_id}', {
      params: { id: this.#sandbox, mount_id: mountId },
      ...options,
    });
  }
}

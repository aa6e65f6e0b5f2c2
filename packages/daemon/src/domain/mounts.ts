import { randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import type { CreateMount } from '@atoll/contract/mounts';
import type { Logger } from 'pino';
import { Deadline } from '../lib/deadline.ts';
import { AtollError, reasonOf } from '../lib/errors.ts';
import type { Mount } from '../ports/mount.ts';
import { attach, detach } from './guest-mount.ts';
import type { Guests } from './guests.ts';
import type { Registry } from './registry.ts';

// An endpoint that does not answer is given up after some 20 s; the rest is a matter of two.
const ATTACH_MS = 90_000;
// Most of it for what was written and is not uploaded yet.
const DETACH_MS = 120_000;

/** A bucket that is mounted in a sandbox. */
export type SandboxMount = Mount;

/** Mounts buckets of object stores in sandboxes. What is mounted is kept with the live sandbox, without its keys. */
export class Mounts {
  readonly #registry: Registry;
  readonly #guests: Guests;
  readonly #log: Logger;
  /** Places that are about to be taken. */
  readonly #coming = new Set<string>();

  constructor(registry: Registry, guests: Guests, log: Logger) {
    this.#registry = registry;
    this.#guests = guests;
    this.#log = log;
  }

  /**
   * Mounts a bucket and answers when it is there. Throws MOUNT_PATH_TAKEN, MOUNT_FAILED with what the mount tool says, or
   * MOUNT_MISSING; nothing of it is left then. Aborting undoes it.
   */
  async mount(idOrName: string, request: CreateMount, signal: AbortSignal): Promise<Mount> {
    const { sandbox, running } = this.#registry.live(idOrName, 'mount');
    const path = placeOf(request.mount_path);
    const taken = [...running.mounts.values()].find(({ mountPath }) => placeOf(mountPath) === path);
    if (taken !== undefined)
      throw AtollError.of('MOUNT_PATH_TAKEN', { ...taken, path, sandboxId: sandbox.id });
    const place = `${sandbox.id} ${path}`;
    if (this.#coming.has(place)) throw AtollError.of('MOUNT_PATH_BUSY', { path });
    const mount: Mount = {
      id: randomUUID(),
      bucket: request.bucket,
      endpoint: request.endpoint,
      mountPath: request.mount_path,
      readOnly: request.read_only ?? false,
    };
    const keys = { accessKey: request.access_key, secretKey: request.secret_key };
    this.#coming.add(place);
    try {
      using deadline = Deadline.in(ATTACH_MS, 'the mount', signal);
      await this.#guests.reach(sandbox.id, (agent) => attach(agent, mount, path, keys, deadline.signal));
      running.mounts.set(mount.id, mount);
    } finally {
      this.#coming.delete(place);
    }
    this.#log.info({ sandbox_id: sandbox.id, mount_id: mount.id, bucket: mount.bucket }, 'bucket mounted');
    return mount;
  }

  /** Oldest first. The guest is not asked. */
  list(idOrName: string): Mount[] {
    return [...this.#registry.live(idOrName, 'be shown').running.mounts.values()];
  }

  /**
   * Unmounts a bucket, after what was written to it is uploaded. It is off the list whatever the guest says to that. Throws
   * NOT_FOUND.
   */
  async unmount(idOrName: string, mountId: string): Promise<void> {
    const { sandbox, running } = this.#registry.live(idOrName, 'unmount');
    const mount = running.mounts.get(mountId);
    if (mount === undefined) throw AtollError.of('NOT_FOUND', { kind: 'mount', id: mountId });
    const ids = { sandbox_id: sandbox.id, mount_id: mountId };
    try {
      using deadline = Deadline.in(DETACH_MS, 'the unmount');
      const path = placeOf(mount.mountPath);
      await this.#guests.reach(sandbox.id, (agent) => detach(agent, mount, path, deadline.signal));
      this.#log.info(ids, 'bucket unmounted');
    } catch (error) {
      this.#log.warn({ ...ids, reason: reasonOf(error) }, 'bucket not unmounted in the guest');
    } finally {
      running.mounts.delete(mountId);
    }
  }
}

/** Two ways to write a path are one place. */
function placeOf(path: string): string {
  return posix.resolve('/', path);
}

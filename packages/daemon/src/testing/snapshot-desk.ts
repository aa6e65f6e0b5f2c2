import type { CreateSandbox } from '@atoll/contract/sandboxes';
import { expect } from 'vitest';
import type { fakeService } from './fake-service.ts';

export type FakeService = Awaited<ReturnType<typeof fakeService>>;

/** Room for a few sandboxes of one size. */
export const SIZES = { vcpuCount: 1, maxVcpuCount: 4, memSizeMib: 64, maxMemSizeMib: 64 };
export const ALL = { sourceSandboxId: undefined, parentSnapshotId: undefined };
export const KEEP = { retain: true, fresh: false };
export const { signal } = new AbortController();

export const codeOf = (code: string) => expect.objectContaining({ code }) as Error;

/** What tests of snapshots ask of a service and of its fakes; `of` answers the service of the test that runs. */
export function snapshotDesk(of: () => FakeService) {
  const create = (request: CreateSandbox = {}) => of().services.sandboxes.create(request, signal);
  return {
    create,
    /** A held snapshot of a fresh sandbox. */
    snapshot: async (request: CreateSandbox = {}) => of().services.snapshots.take((await create(request)).id),
    stop: (id: string) => of().services.snapshots.stop(id, (each) => of().services.sandboxes.destroy(each)),
    live: () =>
      of()
        .services.sandboxes.list([])
        .map(({ id }) => id),
    held: async () => (await of().services.snapshots.listHeld(ALL)).map(({ snapshot }) => snapshot.record.id),
    retired: async () =>
      (await of().services.snapshots.listRetired(ALL)).map(({ snapshot }) => snapshot.record.id),
    /** How many network identities are held. */
    identities: () => of().fakes.network.held.size,
    /** How many network devices are in use. */
    devices: () => of().fakes.network.busy,
  };
}

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fakeService } from '../testing/fake-service.ts';

const SIZES = { vcpuCount: 1, maxVcpuCount: 4, memSizeMib: 64, maxMemSizeMib: 64 };
const KEEP = { retain: true, fresh: false };
const { signal } = new AbortController();

let it: Awaited<ReturnType<typeof fakeService>>;
beforeEach(async () => {
  it = await fakeService({ sizes: SIZES });
});
afterEach(() => it[Symbol.asyncDispose]());

const codeOf = (code: string) => expect.objectContaining({ code }) as Error;
const write = (id: string) => void it.driveStore.writes.set(id, (it.driveStore.writes.get(id) ?? 0) + 1);

/** A drive, and the checkpoint of a sandbox that had it. */
async function checkpointWith(readOnly: boolean): Promise<{ drive: string; checkpoint: string }> {
  const { sandboxes, snapshots, restores, drives } = it.services;
  const { id: drive } = await drives.create({ size_mib: 8 }, signal);
  const { id } = await sandboxes.create({ drives: [{ id: drive, read_only: readOnly }] }, signal);
  // Before, which is all the same.
  write(drive);
  const checkpoint = await snapshots.take(id);
  await sandboxes.destroy((await restores.resume(checkpoint, KEEP, signal)).id);
  return { drive, checkpoint };
}

describe.each([true, false])('a checkpoint with a drive that is read-only: %j', (readOnly) => {
  test('is restored while the drive is as it was, and free', async () => {
    const { drive, checkpoint } = await checkpointWith(readOnly);
    const { id } = await it.services.restores.restore(checkpoint, false, signal);
    expect(it.services.sandboxes.get(id).drives).toEqual([{ id: drive, readOnly }]);
    await it.services.sandboxes.destroy(id);
    await it.services.sandboxes.create({ drives: [{ id: drive }] }, signal);
    await expect(it.services.restores.restore(checkpoint, false, signal)).rejects.toThrow(
      codeOf('DRIVE_CONFLICT'),
    );
  });

  test('is not restored beside who was resumed from it, who is named', async () => {
    const { drive, checkpoint } = await checkpointWith(readOnly);
    const { id } = await it.services.restores.restore(checkpoint, false, signal);
    write(drive);
    const restoring = it.services.restores.restore(checkpoint, false, signal);
    await expect(restoring).rejects.toThrow(codeOf('IDENTITY_HELD'));
    await expect(restoring).rejects.toThrow(`sandbox ${id}`);
  });

  test('is not restored when the drive was written since, or is gone', async () => {
    const { drive, checkpoint } = await checkpointWith(readOnly);
    write(drive);
    const restoring = it.services.restores.restore(checkpoint, false, signal);
    await expect(restoring).rejects.toThrow(codeOf('SNAPSHOT_INCOMPATIBLE'));
    await expect(restoring).rejects.toThrow(`drive ${drive} is written since`);
    await it.services.drives.remove(drive);
    await expect(it.services.restores.restore(checkpoint, false, signal)).rejects.toThrow(
      `drive not found: ${drive}`,
    );
  });
});

import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SnapshotRecord, SnapshotStore, StoredSnapshot } from '../../ports/snapshots.ts';
import type { MachineFiles, Storage } from '../../ports/storage.ts';

export interface SnapshotsUnderTest extends AsyncDisposable {
  readonly storage: Storage;
  readonly snapshots: SnapshotStore;
  /** A second store on the same directory, as the next daemon has one. */
  readonly reopen: () => Promise<SnapshotStore>;
}

const MEM_MIB = 4;

/** What every SnapshotStore keeps. */
export function snapshotSuite(name: string, setUp: () => Promise<SnapshotsUnderTest>): void {
  describe(name, () => {
    const { signal } = new AbortController();
    let it: SnapshotsUnderTest;
    beforeEach(async () => {
      it = await setUp();
    });
    afterEach(() => it[Symbol.asyncDispose]());

    /** Makes a snapshot of a machine with this text in its memory, and removes the machine. */
    async function capture(id: string, files: MachineFiles, text = 'memory'): Promise<StoredSnapshot> {
      const memory = Buffer.alloc(MEM_MIB * 1024 * 1024);
      memory.write(text);
      await writeFile(files.memory, memory);
      const record = recordOf(randomUUID(), id);
      const draft = await it.snapshots.draft(record.id, id, 0, signal);
      await writeFile(draft.state, 'state');
      const stored = await draft.commit(record, false);
      await it.snapshots.removeMachine(id);
      return stored;
    }

    async function captureNew(text?: string): Promise<StoredSnapshot> {
      const id = randomUUID();
      return capture(id, await it.storage.createMachine(id, signal), text);
    }

    test('what was committed is found by the next start as it was recorded', async () => {
      const { record } = await captureNew();
      const retired = await it.snapshots.retire(await captureNew(), 5);
      const found = await (await it.reopen()).recover(signal);
      expect(found).toMatchObject({ damaged: [], halfMade: [] });
      expect(found.whole.map((each) => each.record)).toEqual(
        expect.arrayContaining([record, { ...retired.record, retiredAtUnix: 5 }]),
      );
      expect(await it.storage.listMachines()).toEqual([]);
    });

    test('the next start finds them in the order in which they were taken, within a second too', async () => {
      const taken: StoredSnapshot[] = [];
      for (let count = 0; count < 8; count++) taken.push(await captureNew());
      const first = taken[0] as StoredSnapshot;
      await it.snapshots.retire(first, 5);
      const next = await it.reopen();
      const ids = taken.map(({ record }) => record.id);
      expect((await next.recover(signal)).whole.map(({ record }) => record.id)).toEqual(ids);
      it = { ...it, snapshots: next };
      ids.push((await captureNew()).record.id);
      expect((await (await it.reopen()).recover(signal)).whole.map(({ record }) => record.id)).toEqual(ids);
    });

    test('what was archived is known as that to the next start, and comes back as it was', async () => {
      const stored = await captureNew('remembered');
      const archived = await it.snapshots.archive(stored, 5, signal);
      const next = await it.reopen();
      const [found] = (await next.recover(signal)).whole;
      expect(found?.record).toEqual({ ...stored.record, archivedAtUnix: 5 });
      const fetched = await next.unarchive(archived, signal);
      expect({ ...fetched.record, archivedAtUnix: undefined }).toEqual({
        ...stored.record,
        archivedAtUnix: undefined,
      });
      expect((await readFile(fetched.memory ?? '')).subarray(0, 10).toString()).toBe('remembered');
      expect(await readFile(fetched.state, 'utf8')).toBe('state');
      expect(await next.findFault(fetched, signal)).toBeUndefined();
    });

    test('an archived one can be removed', async () => {
      const stored = await captureNew();
      await it.snapshots.archive(stored, 5, signal);
      await it.snapshots.remove(stored.record.id);
      expect((await (await it.reopen()).recover(signal)).whole).toEqual([]);
    });

    test('a draft that was discarded leaves the machine its files, and nothing else', async () => {
      const id = randomUUID();
      const files = await it.storage.createMachine(id, signal);
      await writeFile(files.memory, 'memory');
      const draft = await it.snapshots.draft(randomUUID(), id, 0, signal);
      await writeFile(draft.state, 'state');
      await draft.discard();
      expect(await readFile(files.memory, 'utf8')).toBe('memory');
      await stat(files.rootDisk);
      expect((await (await it.reopen()).recover(signal)).whole).toEqual([]);
    });

    test('a commit that fails can be discarded', async () => {
      const id = randomUUID();
      const files = await it.storage.createMachine(id, signal);
      await writeFile(files.memory, 'memory');
      const snapshotId = randomUUID();
      const draft = await it.snapshots.draft(snapshotId, id, 0, signal);
      await expect(draft.commit(recordOf(snapshotId, id), false)).rejects.toThrow('ENOENT');
      await draft.discard();
      expect(await readFile(files.memory, 'utf8')).toBe('memory');
      await stat(files.rootDisk);
    });

    test('a draft that was cut off is gone after the next start', async () => {
      const id = randomUUID();
      await it.storage.createMachine(id, signal);
      const draft = await it.snapshots.draft(randomUUID(), id, 0, signal);
      await writeFile(draft.state, 'state');
      const found = await (await it.reopen()).recover(signal);
      expect(found).toMatchObject({ whole: [], damaged: [] });
      expect(found.halfMade).toHaveLength(1);
      await expect(stat(draft.state)).rejects.toThrow('ENOENT');
    });

    test('a damaged one is put aside, whole as it is, and the others are not harmed', async () => {
      const [good, bad] = [await captureNew(), await captureNew()];
      await rm(bad.state);
      const next = await it.reopen();
      const found = await next.recover(signal);
      expect(found.whole.map(({ record }) => record.id)).toEqual([good.record.id]);
      expect(found.damaged.map(({ id }) => id)).toEqual([bad.record.id]);
      await stat(join(found.damaged[0]?.movedTo ?? '', 'manifest.json'));
      expect((await (await it.reopen()).recover(signal)).damaged).toEqual([]);
    });

    test('a machine made from one has its disk and a copy of its memory, and harms neither', async () => {
      const snapshot = await captureNew('what it knew');
      const id = randomUUID();
      const files = await it.snapshots.createMachine(id, snapshot, signal);
      await stat(files.rootDisk);
      const copy = await it.snapshots.copyMemory(snapshot, files.memory, signal);
      expect((await stat(files.memory)).size).toBe(MEM_MIB * 1024 * 1024);
      await copy.filled;
      expect((await stat(files.memory)).size).toBe(MEM_MIB * 1024 * 1024);
      expect((await readFile(files.memory)).toString('utf8', 0, 12)).toBe('what it knew');
      await writeFile(files.memory, 'changed');
      expect(await it.snapshots.findFault(snapshot, signal)).toBeUndefined();
      await it.snapshots.removeMachine(id);
      expect(await it.storage.listMachines()).toEqual([]);
    });

    test('a machine keeps running on a snapshot that is removed, and can become the next one', async () => {
      const first = await captureNew();
      const id = randomUUID();
      const files = await it.snapshots.createMachine(id, first, signal);
      await it.snapshots.remove(first.record.id);
      const second = await capture(id, files);
      const found = await (await it.reopen()).recover(signal);
      expect(found.whole.map(({ record }) => record.id)).toEqual([second.record.id]);
    });

    test('what is missing is told', async () => {
      const snapshot = await captureNew();
      expect(await it.snapshots.findFault(snapshot, signal)).toBeUndefined();
      await rm(snapshot.state);
      expect(await it.snapshots.findFault(snapshot, signal)).toMatchObject({ what: 'files' });
    });

    test('what was given up leaves nothing', async () => {
      const snapshot = await captureNew();
      const given = AbortSignal.abort(new Error('given up'));
      await expect(it.snapshots.createMachine('x', snapshot, given)).rejects.toThrow('given up');
      await mkdir(join(it.storage.machinesDir, 'y'));
      await expect(it.snapshots.draft(randomUUID(), 'y', 0, given)).rejects.toThrow('given up');
      expect((await (await it.reopen()).recover(signal)).halfMade).toEqual([]);
    });

    test('its size is what a removal gives back', async () => {
      const snapshot = await captureNew();
      expect(await it.snapshots.uniqueBytes(snapshot.record.id)).toBeGreaterThan(0);
      await it.snapshots.remove(snapshot.record.id);
      await it.snapshots.remove(snapshot.record.id);
      expect((await (await it.reopen()).recover(signal)).whole).toEqual([]);
    });
  });
}

/** A record with something in every field. */
function recordOf(id: string, sandboxId: string): SnapshotRecord {
  return {
    id,
    createdAtUnix: 1,
    retiredAtUnix: undefined,
    sourceSandboxId: sandboxId,
    parentSnapshotId: randomUUID(),
    name: 'web',
    tags: { team: 'a' },
    vcpuCount: 1,
    memSizeMib: MEM_MIB,
    egress: { mode: 'deny_all', allowCidrs: ['198.51.100.0/24'], denyCidrs: [] },
    imageId: 'alpine',
    rateLimit: { bandwidthBytesPerSec: 1000, opsPerSec: undefined },
    drives: [{ id: randomUUID(), readOnly: true, contentMark: '1' }],
    mounts: [{ id: 'm', bucket: 'b', endpoint: 'http://192.0.2.1', mountPath: '/data', readOnly: true }],
    identity: {
      mac: '02:00:00:00:00:01',
      address: '198.51.100.2',
      prefixLength: 24,
      gateway: '198.51.100.1',
    },
    vmm: { monitor: 'm 1', accelerator: 'tcg', cpu: 'c', kernel: '00' },
    agentGeneration: 2,
  };
}

import type { Logger } from 'pino';
import type { AtPoint } from '../lib/fault-points.ts';
import type { History } from '../ports/history.ts';
import type { SnapshotStore } from '../ports/snapshots.ts';
import type { Storage } from '../ports/storage.ts';
import type { Vmm } from '../ports/vmm.ts';
import type { Leases } from './leases.ts';
import type { Registry } from './registry.ts';
import type { SnapshotBook } from './snapshot-book.ts';
import { nowUnix } from './time.ts';

/** What a start brings into order. */
export interface Recovered {
  readonly vmm: Vmm;
  readonly storage: Storage;
  readonly snapshots: SnapshotStore;
  readonly history: History;
  readonly leases: Leases;
  readonly registry: Registry;
  readonly book: SnapshotBook;
  readonly atPoint: AtPoint;
}

/**
 * Clears what an earlier run left behind, before the first request: what exists minus what is recorded. After a start no machine is
 * recorded, and snapshots are. Machines first, since they use the network and the files.
 */
export async function recover(into: Recovered, log: Logger, signal: AbortSignal): Promise<void> {
  const { vmm, storage, history, atPoint } = into;
  await atPoint('recover:begun', { signal });
  const pids = await vmm.reclaim(storage.machinesDir);
  if (pids.length > 0) log.warn({ pids }, 'ended machines of an earlier run');
  await atPoint('recover:machines', { signal });
  await recoverSnapshots(into, log, signal);
  await atPoint('recover:snapshots', { signal });
  const orphans = history.orphanLive(nowUnix());
  if (orphans > 0) log.warn({ sandboxes: orphans }, 'sandboxes of an earlier run are orphaned');
  await atPoint('recover:history', { signal });
  for (const id of await storage.listMachines()) {
    await storage.removeMachine(id);
    log.warn({ sandbox_id: id }, 'removed the files of a machine of an earlier run');
  }
  await atPoint('recover:files', { signal });
}

/** Reads back what is held. Names and network identities are taken again before anyone else can have them. */
async function recoverSnapshots(
  { snapshots, history, leases, registry, book }: Recovered,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const { whole, damaged, halfMade } = await snapshots.recover(signal);
  for (const { id, reason, movedTo } of damaged)
    log.error({ snapshot_id: id, reason, moved_to: movedTo }, 'damaged snapshot set aside');
  for (const id of halfMade) log.warn({ snapshot_id: id }, 'removed a snapshot that was never finished');
  for (const snapshot of whole) {
    const { id, sourceSandboxId, createdAtUnix } = snapshot.record;
    book.enter(snapshot);
    // A daemon that was killed between the two may have made the snapshot and not noted the sandbox's end.
    history.ended(sourceSandboxId, { reason: 'snapshotted', atUnix: createdAtUnix, finalSnapshotId: id });
  }
  const held = whole.filter(({ record }) => record.retiredAtUnix === undefined);
  for (const { record } of held) registry.keepName(record.name, record.id);
  const keepers = held.filter(({ record }) => record.poolId === undefined);
  const refused = await leases.reclaim(
    keepers.map(({ record }) => ({ identity: record.identity, holder: `snapshot ${record.id}` as const })),
    whole.filter((each) => !keepers.includes(each)).map(({ record }) => record.identity),
    signal,
  );
  for (const holder of refused)
    log.warn(
      { holder },
      'its network address is not of this network any more, or another’s too: it needs fresh_identity=true',
    );
  if (whole.length > 0)
    log.info({ held: held.length, retired: whole.length - held.length }, 'snapshots found');
}

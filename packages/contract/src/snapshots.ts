import { z } from 'zod';
import { optional, UnixSeconds } from './fields.ts';
import { SandboxId, Tags } from './sandboxes.ts';
import { ErrorBody } from './errors.ts';

/** Answer of `POST /sandboxes/:id/snapshot`. */
export const SnapshotId = z.object({ snapshot_id: z.uuid() }).meta({ id: 'SnapshotId' });

const SizeBytes = z
  .int()
  .nonnegative()
  .describe('Disk space that a deletion would give back now: what no other snapshot or sandbox shares.');

/** One held snapshot as `GET /snapshots` lists it. */
export const SnapshotItem = z
  .object({
    id: z.uuid(),
    source_sandbox_id: z.uuid(),
    created_at_unix: UnixSeconds,
    name: z.string().nullable(),
    tags: Tags,
    image_id: z.string().nullable(),
    vcpu_count: z.int(),
    mem_size_mib: z.int(),
    forked_into: z.uuid().nullable().describe('The live fork.'),
    parent_snapshot_id: z.uuid().nullable(),
    archived_at_unix: UnixSeconds.nullable(),
    size_bytes: SizeBytes,
  })
  .meta({ id: 'Snapshot' });
export type SnapshotItem = z.output<typeof SnapshotItem>;

export const SnapshotList = z.object({ snapshots: z.array(SnapshotItem) }).meta({ id: 'SnapshotList' });

/** One retired checkpoint. It keeps its snapshot's id. */
export const CheckpointItem = z
  .object({
    id: z.uuid(),
    source_sandbox_id: z.uuid(),
    created_at_unix: UnixSeconds,
    retired_at_unix: UnixSeconds,
    name: z.string().nullable(),
    tags: Tags,
    parent_snapshot_id: z.uuid().nullable(),
    pinned: z.boolean().describe('Whether the limits on history leave it alone.'),
    size_bytes: SizeBytes,
  })
  .meta({ id: 'Checkpoint' });
export type CheckpointItem = z.output<typeof CheckpointItem>;

export const CheckpointList = z
  .object({ checkpoints: z.array(CheckpointItem) })
  .meta({ id: 'CheckpointList' });

/** Body of `PATCH /snapshots/history/:id`. */
export const PinCheckpoint = z
  .strictObject({ pinned: z.boolean().describe('true: no limit on history removes it.') })
  .meta({ id: 'PinCheckpoint' });

/** Body of `POST /snapshots/history/prune`. */
export const PruneRequest = z
  .strictObject({ dry_run: optional(z.boolean()).describe('true: only says what would go.') })
  .meta({ id: 'PruneRequest' });

/** What went, or would go. */
export const Pruned = z
  .object({
    dry_run: z.boolean(),
    checkpoints: z.array(
      z.object({
        id: z.uuid(),
        reason: z
          .enum(['keep_last', 'max_age', 'max_bytes'])
          .describe('The limit it is beyond: SERVICE_HISTORY_KEEP_LAST, _MAX_AGE_SECS, _MAX_BYTES.'),
        size_bytes: SizeBytes,
      }),
    ),
    bytes: z.int().nonnegative().describe('Disk space that comes back with them, at least.'),
  })
  .meta({ id: 'Pruned' });

/** Query of both lists: what is given must match. */
export const SnapshotFilter = z.strictObject({
  source_sandbox_id: z.string().optional().describe('The sandbox it was taken of.'),
  parent_snapshot_id: z.string().optional().describe('The snapshot that sandbox came from.'),
});
export type SnapshotFilter = z.output<typeof SnapshotFilter>;

const Flag = z.enum(['true', 'false'], 'takes true or false');

const FreshIdentity = Flag.default('false').describe(
  'true gives the sandbox a network address, MAC, hostname and machine-id of its own. It keeps the name if that is free.',
);

/** Query of `POST /snapshots/:id/fork` and of `POST /snapshots/history/:id/restore`. */
export const RestoreQuery = z.strictObject({ fresh_identity: FreshIdentity });

/** Query of `POST /snapshots/:id/resume`. */
export const ResumeQuery = z.strictObject({
  retain_history: Flag.default('true').describe(
    'false deletes the checkpoint instead of retiring it into history.',
  ),
  fresh_identity: FreshIdentity,
});

const MAX_CLONES = 64;

/** Body of `POST /snapshots/:id/clone`. */
export const CloneRequest = z
  .strictObject({
    count: z.int().min(1, 'takes 1 to 64').max(MAX_CLONES, 'takes 1 to 64'),
    name_prefix: optional(
      z.string().regex(/^[A-Za-z0-9_-]{1,61}$/, 'takes 1 to 61 characters of A-Z a-z 0-9 _ -'),
    ).describe('Names the clones <prefix>-1, <prefix>-2 and so on; without it they have no names.'),
    tags: optional(Tags).describe("The snapshot's own when absent."),
  })
  .meta({ id: 'CloneRequest' });
export type CloneRequest = z.output<typeof CloneRequest>;

/** One entry for each clone asked for, in order. */
export const CloneList = z
  .object({ sandboxes: z.array(z.union([SandboxId, ErrorBody])) })
  .meta({ id: 'CloneList' });

/** The id of a snapshot or checkpoint, in a path. */
export const SnapshotParams = z.object({ id: z.string().describe('Id of the snapshot.') });

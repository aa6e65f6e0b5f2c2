import { SandboxId } from '@atoll/contract/sandboxes';
import {
  CheckpointItem,
  CheckpointList,
  PinCheckpoint,
  Pruned,
  PruneRequest,
  RestoreQuery,
  SnapshotFilter,
  SnapshotParams,
} from '@atoll/contract/snapshots';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import type { Prunable } from '../../domain/retention.ts';
import type { ListedSnapshot } from '../../domain/snapshots.ts';
import { clientGone } from '../abort.ts';
import { errorAnswers, NoContent } from '../schemas.ts';
import type { Services } from '../services.ts';
import { RESTORE_ERRORS, toQuery } from './snapshots.ts';

const tags = ['snapshots'];

/** The history of snapshots: checkpoints that resumes retired. */
export function checkpointRoutes({ snapshots, restores, pruner }: Services): FastifyPluginCallbackZod {
  return (app, _options, done) => {
    app.get(
      '/snapshots/history',
      {
        schema: {
          tags,
          summary: 'List the checkpoints that resumes retired, oldest first',
          querystring: SnapshotFilter,
          response: { 200: CheckpointList, ...errorAnswers(400, 401) },
        },
      },
      async (request) => ({
        checkpoints: (await snapshots.listRetired(toQuery(request.query))).map(toCheckpoint),
      }),
    );
    app.post(
      '/snapshots/history/:id/restore',
      {
        schema: {
          tags,
          summary: 'Make a live sandbox of a checkpoint, which stays; as often as wanted, one at a time',
          params: SnapshotParams,
          querystring: RestoreQuery,
          response: { 200: SandboxId, ...RESTORE_ERRORS },
        },
      },
      async (request, reply) => {
        const fresh = request.query.fresh_identity === 'true';
        const { id } = await restores.restore(request.params.id, fresh, clientGone(reply));
        return { id };
      },
    );
    app.delete(
      '/snapshots/history/:id',
      {
        schema: {
          tags,
          summary: 'Delete a checkpoint',
          params: SnapshotParams,
          response: { 204: NoContent, ...errorAnswers(401, 404) },
        },
      },
      async (request, reply) => {
        await snapshots.removeRetired(request.params.id);
        return reply.status(204).send(null);
      },
    );
    app.patch(
      '/snapshots/history/:id',
      {
        schema: {
          tags,
          summary: 'Pin a checkpoint, so that no limit on history removes it, or unpin it',
          params: SnapshotParams,
          body: PinCheckpoint,
          response: { 200: CheckpointItem, ...errorAnswers(400, 401, 404, 413) },
        },
      },
      async (request) => toCheckpoint(await snapshots.pin(request.params.id, request.body.pinned)),
    );
    app.post(
      '/snapshots/history/prune',
      {
        schema: {
          tags,
          summary: 'Remove the checkpoints that are beyond the limits on history, or say which those are',
          body: PruneRequest,
          response: { 200: Pruned, ...errorAnswers(400, 401, 413) },
        },
      },
      async (request) => {
        const dryRun = request.body.dry_run ?? false;
        return toPruned(await pruner.prune(dryRun), dryRun);
      },
    );
    done();
  };
}

function toCheckpoint({ snapshot: { record }, sizeBytes }: ListedSnapshot): z.output<typeof CheckpointItem> {
  return {
    id: record.id,
    source_sandbox_id: record.sourceSandboxId,
    created_at_unix: record.createdAtUnix,
    retired_at_unix: record.retiredAtUnix ?? 0,
    name: record.name ?? null,
    tags: { ...record.tags },
    parent_snapshot_id: record.parentSnapshotId ?? null,
    pinned: record.pinned ?? false,
    size_bytes: sizeBytes,
  };
}

function toPruned(prunable: readonly Prunable[], dryRun: boolean): z.output<typeof Pruned> {
  const checkpoints = prunable.map(({ checkpoint: { id, bytes }, reason }) => ({
    id,
    reason,
    size_bytes: bytes,
  }));
  const bytes = checkpoints.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  return { dry_run: dryRun, checkpoints, bytes };
}

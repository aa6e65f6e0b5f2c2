import { SandboxId, SandboxParams } from '@atoll/contract/sandboxes';
import {
  CloneList,
  CloneRequest,
  RestoreQuery,
  ResumeQuery,
  SnapshotFilter,
  SnapshotId,
  SnapshotList,
  SnapshotParams,
} from '@atoll/contract/snapshots';
import type { SnapshotItem } from '@atoll/contract/snapshots';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import type { SnapshotQuery } from '../../domain/snapshot-book.ts';
import type { ListedSnapshot } from '../../domain/snapshots.ts';
import { AtollError } from '../../lib/errors.ts';
import { clientGone } from '../abort.ts';
import { errorAnswers, NoContent } from '../schemas.ts';
import type { Services } from '../services.ts';

const tags = ['snapshots'];
/** What can go wrong where a sandbox comes out of a snapshot. */
export const RESTORE_ERRORS = errorAnswers(400, 401, 404, 409, 500, 503);

/** Snapshots: take, list, delete, and what comes out of them. */
export function snapshotRoutes(services: Services): FastifyPluginCallbackZod {
  return (app, options, done) => {
    heldRoutes(services)(app, options, () => undefined);
    restoreRoutes(services)(app, options, done);
  };
}

function heldRoutes({ snapshots }: Services): FastifyPluginCallbackZod {
  return (app, _options, done) => {
    app.post(
      '/sandboxes/:id/snapshot',
      {
        schema: {
          tags,
          summary: 'Stop a sandbox and keep its memory and disk',
          params: SandboxParams,
          response: { 200: SnapshotId, ...errorAnswers(400, 401, 404, 409, 500, 502, 503) },
        },
      },
      async (request) => ({ snapshot_id: await snapshots.take(request.params.id) }),
    );
    app.get(
      '/snapshots',
      {
        schema: {
          tags,
          summary: 'List held snapshots, oldest first',
          querystring: SnapshotFilter,
          response: { 200: SnapshotList, ...errorAnswers(400, 401) },
        },
      },
      async (request) => ({
        snapshots: (await snapshots.listHeld(toQuery(request.query))).map(toItem),
      }),
    );
    app.delete(
      '/snapshots/:id',
      {
        schema: {
          tags,
          summary: 'Delete a held snapshot',
          params: SnapshotParams,
          response: { 204: NoContent, ...errorAnswers(401, 404, 409) },
        },
      },
      async (request, reply) => {
        await snapshots.remove(request.params.id);
        return reply.status(204).send(null);
      },
    );
    done();
  };
}

function restoreRoutes({ restores }: Services): FastifyPluginCallbackZod {
  return (app, _options, done) => {
    app.post(
      '/snapshots/:id/resume',
      {
        schema: {
          tags,
          summary: 'Make a snapshot a live sandbox again; the snapshot is consumed',
          params: SnapshotParams,
          querystring: ResumeQuery,
          response: { 200: SandboxId, ...RESTORE_ERRORS },
        },
      },
      async (request, reply) => {
        const { retain_history, fresh_identity } = request.query;
        const options = { retain: retain_history === 'true', fresh: fresh_identity === 'true' };
        const { id } = await restores.resume(request.params.id, options, clientGone(reply));
        return { id };
      },
    );
    app.post(
      '/snapshots/:id/fork',
      {
        schema: {
          tags,
          summary: 'Make a live sandbox of a snapshot, which stays; one at a time',
          params: SnapshotParams,
          querystring: RestoreQuery,
          response: { 200: SandboxId, ...RESTORE_ERRORS },
        },
      },
      async (request, reply) => {
        const fresh = request.query.fresh_identity === 'true';
        const { id } = await restores.fork(request.params.id, fresh, clientGone(reply));
        return { id };
      },
    );
    app.post(
      '/snapshots/:id/clone',
      {
        schema: {
          tags,
          summary: 'Make many live sandboxes of a snapshot at once, each with an identity of its own',
          params: SnapshotParams,
          body: CloneRequest,
          response: { 200: CloneList, ...RESTORE_ERRORS },
        },
      },
      async (request, reply) => {
        const clones = await restores.clone(request.params.id, request.body, clientGone(reply));
        return {
          sandboxes: clones.map((clone) =>
            clone instanceof AtollError ? { error: clone.message, code: clone.code } : { id: clone.id },
          ),
        };
      },
    );
    done();
  };
}

/** What a list is asked for, in the domain's words. */
export function toQuery({ source_sandbox_id, parent_snapshot_id }: SnapshotFilter): SnapshotQuery {
  return { sourceSandboxId: source_sandbox_id, parentSnapshotId: parent_snapshot_id };
}

function toItem({ snapshot: { record }, forkedInto, sizeBytes }: ListedSnapshot): SnapshotItem {
  return {
    id: record.id,
    source_sandbox_id: record.sourceSandboxId,
    created_at_unix: record.createdAtUnix,
    name: record.name ?? null,
    tags: { ...record.tags },
    image_id: record.imageId ?? null,
    vcpu_count: record.vcpuCount,
    mem_size_mib: record.memSizeMib,
    forked_into: forkedInto ?? null,
    parent_snapshot_id: record.parentSnapshotId ?? null,
    archived_at_unix: record.archivedAtUnix ?? null,
    size_bytes: sizeBytes,
  };
}

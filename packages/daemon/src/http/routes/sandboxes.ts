import {
  CreateSandbox,
  DeleteSandboxQuery,
  SandboxFilter,
  SandboxId,
  SandboxItem,
  SandboxList,
  SandboxParams,
  Stopped,
} from '@atoll/contract/sandboxes';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import type { Sandbox } from '../../domain/sandbox.ts';
import { clientGone } from '../abort.ts';
import type { Services } from '../services.ts';
import { errorAnswers, NoContent } from '../schemas.ts';

const tags = ['sandboxes'];

/** Create, list, show and destroy. */
export function sandboxRoutes({ sandboxes, snapshots }: Services): FastifyPluginCallbackZod {
  return (app, _options, done) => {
    app.post(
      '/sandboxes',
      {
        schema: {
          tags,
          summary: 'Boot a sandbox; answers when a command can run in it',
          body: CreateSandbox,
          response: { 200: SandboxId, ...errorAnswers(400, 401, 404, 409, 413, 500, 503) },
        },
      },
      async (request, reply) => {
        const { id } = await sandboxes.create(request.body, clientGone(reply));
        return { id };
      },
    );
    app.get(
      '/sandboxes',
      {
        schema: {
          tags,
          summary: 'List live sandboxes; tag.<key>=<value> filters, all must match',
          querystring: SandboxFilter,
          response: { 200: SandboxList, ...errorAnswers(400, 401) },
        },
      },
      (request) => ({ sandboxes: sandboxes.list(request.query).map(toItem) }),
    );
    app.get(
      '/sandboxes/:id',
      {
        schema: {
          tags,
          summary: 'Show one live sandbox',
          params: SandboxParams,
          response: { 200: SandboxItem, ...errorAnswers(401, 404, 409, 502) },
        },
      },
      (request) => toItem(sandboxes.get(request.params.id)),
    );
    app.delete(
      '/sandboxes/:id',
      {
        schema: {
          tags,
          summary: 'Stop a sandbox, and keep it as a snapshot unless told otherwise',
          params: SandboxParams,
          querystring: DeleteSandboxQuery,
          response: { 200: Stopped, 204: NoContent, ...errorAnswers(400, 401, 404, 409, 500, 503) },
        },
      },
      async (request, reply) => {
        const { id } = request.params;
        if (request.query.keep === 'true') {
          const snapshotId = await snapshots.stop(id, (each) => sandboxes.destroy(each));
          return { kept: snapshotId !== undefined, snapshot_id: snapshotId ?? null };
        }
        await sandboxes.destroy(id);
        return reply.status(204).send(null);
      },
    );
    done();
  };
}

function toItem(sandbox: Sandbox): SandboxItem {
  return {
    id: sandbox.id,
    name: sandbox.name ?? null,
    tags: { ...sandbox.tags },
    created_at_unix: sandbox.createdAtUnix,
    image_id: sandbox.imageId ?? null,
    vcpu_count: sandbox.vcpuCount,
    mem_size_mib: sandbox.memSizeMib,
    egress: sandbox.egress === undefined ? null : toPolicy(sandbox.egress),
    rate_limit: sandbox.rateLimit
      ? {
          bandwidth_bytes_per_sec: sandbox.rateLimit.bandwidthBytesPerSec ?? null,
          ops_per_sec: sandbox.rateLimit.opsPerSec ?? null,
        }
      : null,
    drives: sandbox.drives.map(({ id, readOnly }) => ({ id, read_only: readOnly })),
    jailed: sandbox.jailed,
    parent_snapshot_id: sandbox.parentSnapshotId ?? null,
  };
}

function toPolicy({
  mode,
  allowCidrs,
  denyCidrs,
}: NonNullable<Sandbox['egress']>): NonNullable<SandboxItem['egress']> {
  return { mode, allow_cidrs: [...allowCidrs], deny_cidrs: [...denyCidrs] };
}

import { CreateMount, MountItem, MountList, MountParams } from '@atoll/contract/mounts';
import { SandboxParams } from '@atoll/contract/sandboxes';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import type { SandboxMount } from '../../domain/mounts.ts';
import { clientGone } from '../abort.ts';
import type { Services } from '../services.ts';
import { errorAnswers, GUEST_ERRORS, NoContent } from '../schemas.ts';

const tags = ['mounts'];

/** Buckets of object stores inside sandboxes. */
export function mountRoutes({ mounts }: Services): FastifyPluginCallbackZod {
  return (app, _options, done) => {
    app.post(
      '/sandboxes/:id/mounts',
      {
        schema: {
          tags,
          summary: 'Mount a bucket in a sandbox; its keys go into the guest and nowhere else',
          params: SandboxParams,
          body: CreateMount,
          response: { 200: MountItem, ...GUEST_ERRORS },
        },
      },
      async (request, reply) =>
        toItem(await mounts.mount(request.params.id, request.body, clientGone(reply))),
    );
    app.get(
      '/sandboxes/:id/mounts',
      {
        schema: {
          tags,
          summary: 'List the buckets mounted in a sandbox',
          params: SandboxParams,
          response: { 200: MountList, ...errorAnswers(401, 404, 409, 502) },
        },
      },
      (request) => ({ mounts: mounts.list(request.params.id).map(toItem) }),
    );
    app.delete(
      '/sandboxes/:id/mounts/:mount_id',
      {
        schema: {
          tags,
          summary: 'Unmount a bucket, once what was written to it is uploaded',
          params: MountParams,
          response: { 204: NoContent, ...errorAnswers(401, 404, 409, 502) },
        },
      },
      async (request, reply) => {
        await mounts.unmount(request.params.id, request.params.mount_id);
        return reply.status(204).send(null);
      },
    );
    done();
  };
}

function toItem({ id, bucket, endpoint, mountPath, readOnly }: SandboxMount): MountItem {
  return { id, bucket, endpoint, mount_path: mountPath, read_only: readOnly };
}

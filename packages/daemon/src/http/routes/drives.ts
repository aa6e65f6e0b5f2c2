import { CreateDrive, DriveItem, DriveList, DriveParams } from '@atoll/contract/drives';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import type { Drive } from '../../domain/drives.ts';
import { clientGone } from '../abort.ts';
import type { Services } from '../services.ts';
import { errorAnswers, NoContent } from '../schemas.ts';

const tags = ['drives'];

/** Disks that outlive sandboxes. */
export function driveRoutes({ drives }: Services): FastifyPluginCallbackZod {
  return (app, _options, done) => {
    app.post(
      '/drives',
      {
        schema: {
          tags,
          summary: 'Make an empty drive',
          body: CreateDrive,
          response: { 200: DriveItem, ...errorAnswers(400, 401, 413, 500, 503) },
        },
      },
      async (request, reply) => toItem(await drives.create(request.body, clientGone(reply))),
    );
    app.get(
      '/drives',
      { schema: { tags, summary: 'List the drives', response: { 200: DriveList, ...errorAnswers(401) } } },
      () => ({ drives: drives.list().map(toItem) }),
    );
    app.delete(
      '/drives/:id',
      {
        schema: {
          tags,
          summary: 'Remove a drive that nobody holds, with all that is on it',
          params: DriveParams,
          response: { 204: NoContent, ...errorAnswers(401, 404, 409) },
        },
      },
      async (request, reply) => {
        await drives.remove(request.params.id);
        return reply.status(204).send(null);
      },
    );
    done();
  };
}

function toItem({ id, sizeMib, createdAtUnix, heldBy }: Drive): DriveItem {
  return {
    id,
    size_mib: sizeMib,
    created_at_unix: createdAtUnix,
    attached_to: heldBy.map(({ holder, readOnly }) => ({ holder, read_only: readOnly })),
  };
}

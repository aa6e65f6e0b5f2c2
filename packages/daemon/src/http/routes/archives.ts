import { ArchiveQuery } from '@atoll/contract/files';
import { SandboxParams } from '@atoll/contract/sandboxes';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { streamBodies } from '../bodies.ts';
import { clientGone } from '../abort.ts';
import { passOn } from '../pass-on.ts';
import type { Services } from '../services.ts';
import { GUEST_ERRORS, NoContent } from '../schemas.ts';

const tags = ['files'];
const params = SandboxParams;

const TAR = 'application/x-tar';

/** Whole directories as tar archives, streamed both ways whatever their size. */
export function archiveRoutes({ guests }: Services): FastifyPluginCallbackZod {
  return (app, _options, done) => {
    streamBodies(app);

    app.get(
      '/sandboxes/:id/archive',
      {
        exposeHeadRoute: false,
        schema: {
          tags,
          summary: 'Read what a directory holds, or a single file, as a tar archive',
          params,
          querystring: ArchiveQuery,
          produces: [TAR],
          response: { 200: z.any(), ...GUEST_ERRORS },
        },
      },
      async (request, reply) => {
        const signal = clientGone(reply);
        const { path } = request.query;
        const { body } = await guests.open(request.params.id, (agent) => agent.readArchive(path, signal));
        return reply.type(TAR).send(body);
      },
    );
    app.put(
      '/sandboxes/:id/archive',
      {
        schema: {
          tags,
          summary: 'Unpack a tar archive into a directory, which is made if it is absent',
          consumes: [TAR],
          params,
          querystring: ArchiveQuery,
          response: { 204: NoContent, ...GUEST_ERRORS },
        },
      },
      async (request, reply) => {
        const signal = clientGone(reply);
        await passOn(request.raw, (archive) =>
          guests.reach(request.params.id, (agent) => agent.writeArchive(request.query.path, archive, signal)),
        );
        return reply.status(204).send(null);
      },
    );
    done();
  };
}

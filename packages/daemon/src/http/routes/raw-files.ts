import { RawFileQuery } from '@atoll/contract/files';
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

/** Files as plain bytes, streamed both ways whatever their size: the body limit is for JSON. */
export function rawFileRoutes({ guests }: Services): FastifyPluginCallbackZod {
  return (app, _options, done) => {
    streamBodies(app);

    app.get(
      '/sandboxes/:id/files',
      {
        exposeHeadRoute: false,
        schema: {
          tags,
          summary: 'Read a file as plain bytes',
          params,
          querystring: RawFileQuery,
          produces: ['application/octet-stream'],
          response: { 200: z.any(), ...GUEST_ERRORS },
        },
      },
      async (request, reply) => {
        const signal = clientGone(reply);
        const { path } = request.query;
        const { size, body } = await guests.open(request.params.id, (agent) => agent.readFile(path, signal));
        void reply.type('application/octet-stream');
        if (size !== undefined) void reply.header('content-length', size);
        return reply.send(body);
      },
    );
    app.put(
      '/sandboxes/:id/files',
      {
        schema: {
          tags,
          summary: 'Create a file, or replace its content, with the bytes of the body',
          consumes: ['application/octet-stream'],
          params,
          querystring: RawFileQuery,
          response: { 204: NoContent, ...GUEST_ERRORS },
        },
      },
      async (request, reply) => {
        const signal = clientGone(reply);
        await passOn(request.raw, (content) =>
          guests.reach(request.params.id, (agent) => agent.writeFile(request.query.path, content, signal)),
        );
        return reply.status(204).send(null);
      },
    );
    done();
  };
}

import { GetOrCreate, GotOrCreated, NameParams, SandboxId } from '@atoll/contract/sandboxes';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { clientGone } from '../abort.ts';
import { errorAnswers } from '../schemas.ts';
import type { Services } from '../services.ts';

const tags = ['sandboxes'];

/** Sandboxes by name. */
export function nameRoutes({ names }: Services): FastifyPluginCallbackZod {
  return (app, _options, done) => {
    app.get(
      '/sandboxes/by-name/:name',
      {
        schema: {
          tags,
          summary: 'Find the live sandbox of a name',
          params: NameParams,
          response: { 200: SandboxId, ...errorAnswers(401, 404, 409) },
        },
      },
      (request) => ({ id: names.find(request.params.name) }),
    );
    app.post(
      '/sandboxes/get-or-create',
      {
        schema: {
          tags,
          summary: 'The live sandbox of a name, or the one its held snapshot is resumed to, or a new one',
          body: GetOrCreate,
          response: { 200: GotOrCreated, ...errorAnswers(400, 401, 404, 409, 413, 500, 503) },
        },
      },
      (request, reply) => names.getOrCreate(request.body, clientGone(reply)),
    );
    done();
  };
}

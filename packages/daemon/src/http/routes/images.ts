import { ImageItem, ImageList, ImageParams, RegisterImage } from '@atoll/contract/images';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import type { Image } from '../../domain/images.ts';
import { clientGone } from '../abort.ts';
import type { Services } from '../services.ts';
import { errorAnswers, NoContent } from '../schemas.ts';

const tags = ['images'];

/** Root file systems that sandboxes can boot from. */
export function imageRoutes({ images }: Services): FastifyPluginCallbackZod {
  return (app, _options, done) => {
    app.post(
      '/images',
      {
        schema: {
          tags,
          summary: 'Register an ext4 file of the host as an image; answers when it is copied',
          body: RegisterImage,
          response: { 200: ImageItem, ...errorAnswers(400, 401, 409, 413, 500, 503) },
        },
      },
      async (request, reply) => toItem(await images.register(request.body, clientGone(reply))),
    );
    app.get(
      '/images',
      {
        schema: {
          tags,
          summary: 'List the registered images',
          response: { 200: ImageList, ...errorAnswers(401) },
        },
      },
      () => ({ images: images.list().map(toItem) }),
    );
    app.delete(
      '/images/:id',
      {
        schema: {
          tags,
          summary: 'Remove an image that nobody boots from',
          params: ImageParams,
          response: { 204: NoContent, ...errorAnswers(401, 404, 409) },
        },
      },
      async (request, reply) => {
        await images.remove(request.params.id);
        return reply.status(204).send(null);
      },
    );
    done();
  };
}

function toItem({ id, path, sizeMib, createdAtUnix, heldBy }: Image): ImageItem {
  return {
    id,
    size_mib: sizeMib,
    created_at_unix: createdAtUnix,
    in_use_by: heldBy.length === 0 ? null : [...heldBy],
    guest_agent_verified: false,
    verification_hint: `The daemon is unprivileged and cannot mount an image to look into it. On its host, as root, in Atoll's checkout: bash host/preflight.sh ${path}`,
  };
}

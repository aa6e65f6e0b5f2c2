import { CreatePool, PoolItem, PoolList, PoolParams } from '@atoll/contract/pools';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import type { Pool } from '../../domain/pool.ts';
import type { Services } from '../services.ts';
import { errorAnswers, NoContent } from '../schemas.ts';

const tags = ['pools'];

/** Pools of instances that are kept warm. */
export function poolRoutes({ pools }: Services): FastifyPluginCallbackZod {
  return (app, _options, done) => {
    app.post(
      '/pools',
      {
        schema: {
          tags,
          summary: 'Keep instances of a profile warm; a create that matches takes one',
          body: CreatePool,
          response: { 200: PoolItem, ...errorAnswers(400, 401, 404, 409, 413) },
        },
      },
      async (request) => toItem(await pools.create(request.body)),
    );
    app.get(
      '/pools',
      { schema: { tags, summary: 'List pools', response: { 200: PoolList, ...errorAnswers(401) } } },
      () => ({ pools: pools.list().map(toItem) }),
    );
    app.delete(
      '/pools/:id',
      {
        schema: {
          tags,
          summary: 'Remove a pool and what it has ready; sandboxes it served live on',
          params: PoolParams,
          response: { 204: NoContent, ...errorAnswers(401, 404) },
        },
      },
      async (request, reply) => {
        await pools.remove(request.params.id);
        return reply.status(204).send(null);
      },
    );
    done();
  };
}

function toItem({ spec, warmReady, claimed }: Pool): PoolItem {
  return {
    id: spec.id,
    image_id: spec.imageId ?? null,
    vcpu_count: spec.vcpuCount,
    mem_size_mib: spec.memSizeMib,
    warm_count: spec.warmCount,
    max_count: spec.maxCount ?? null,
    warm_ready: warmReady,
    claimed,
  };
}

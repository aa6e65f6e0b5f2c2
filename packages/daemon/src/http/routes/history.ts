import { HistoryList, HistoryQuery } from '@atoll/contract/history';
import type { HistoryItem } from '@atoll/contract/history';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import type { PastSandbox } from '../../domain/sandbox.ts';
import type { Services } from '../services.ts';
import { errorAnswers } from '../schemas.ts';

/** Every sandbox that ever was. */
export function historyRoutes({ sandboxes }: Services): FastifyPluginCallbackZod {
  return (app, _options, done) => {
    app.get(
      '/sandboxes/history',
      {
        schema: {
          tags: ['sandboxes'],
          summary: 'List every sandbox that ever was, newest first',
          querystring: HistoryQuery,
          response: { 200: HistoryList, ...errorAnswers(400, 401) },
        },
      },
      ({ query: { live_only, limit } }) => ({
        history: sandboxes.past({ liveOnly: live_only === 'true', limit }).map(toItem),
      }),
    );
    done();
  };
}

function toItem({ id, name, tags, imageId, createdAtUnix, end }: PastSandbox): HistoryItem {
  return {
    id,
    name: name ?? null,
    tags: { ...tags },
    image_id: imageId ?? null,
    created_at_unix: createdAtUnix,
    ended_at_unix: end?.atUnix ?? null,
    end_reason: end?.reason ?? null,
    final_snapshot_id: end?.finalSnapshotId ?? null,
  };
}

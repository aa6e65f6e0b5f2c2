import { z } from 'zod';
import { UnixSeconds } from './fields.ts';
import { Tags } from './sandboxes.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

/** Query of `GET /sandboxes/history`. */
export const HistoryQuery = z.strictObject({
  live_only: z
    .enum(['true', 'false'], 'takes true or false')
    .default('false')
    .describe('true leaves out what has ended.'),
  limit: z
    .string()
    .regex(/^[1-9]\d{0,3}$/, `takes 1 to ${MAX_LIMIT}`)
    .transform(Number)
    .refine((limit) => limit <= MAX_LIMIT, `takes 1 to ${MAX_LIMIT}`)
    .default(DEFAULT_LIMIT)
    .describe(`How many at most, 1 to ${MAX_LIMIT}; the default is ${DEFAULT_LIMIT}.`),
});

/** One sandbox that is or was. */
export const HistoryItem = z
  .object({
    id: z.uuid(),
    name: z.string().nullable(),
    tags: Tags,
    image_id: z.string().nullable(),
    created_at_unix: UnixSeconds,
    ended_at_unix: UnixSeconds.nullable(),
    end_reason: z.enum(['destroyed', 'snapshotted', 'orphaned_by_restart']).nullable(),
    final_snapshot_id: z.uuid().nullable(),
  })
  .meta({ id: 'HistoryRecord' });
export type HistoryItem = z.output<typeof HistoryItem>;

export const HistoryList = z.object({ history: z.array(HistoryItem) }).meta({ id: 'HistoryList' });

import { z } from 'zod';
import { optional } from './fields.ts';

const MAX_WARM = 1000;

/** Body of `POST /pools`. The upper bounds of size are the daemon's settings, so the domain checks them. */
export const CreatePool = z
  .strictObject({
    id: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,64}$/, 'takes 1 to 64 characters of A-Z a-z 0-9 _ -')
      .describe('Its name, which no other pool has.'),
    image_id: optional(z.string()).describe(
      'The image its instances boot from; the default is the base one.',
    ),
    vcpu_count: optional(z.int().positive()).describe('Virtual CPUs; the default is SERVICE_VCPU_COUNT.'),
    mem_size_mib: optional(z.int().positive()).describe(
      'Memory in MiB; the default is SERVICE_MEM_SIZE_MIB.',
    ),
    warm_count: z
      .int()
      .min(0)
      .max(MAX_WARM)
      .describe('How many instances are to be ready: a target. 0 keeps none.'),
    max_count: optional(z.int().positive()).describe(
      'How many instances there are at most, ready and claimed; a create beyond that waits.',
    ),
  })
  .meta({ id: 'CreatePool' });
export type CreatePool = z.output<typeof CreatePool>;

/** One pool, and how it stands. */
export const PoolItem = z
  .object({
    id: z.string(),
    image_id: z.string().nullable(),
    vcpu_count: z.int(),
    mem_size_mib: z.int(),
    warm_count: z.int(),
    max_count: z.int().nullable(),
    warm_ready: z.int().describe('Instances that are ready now.'),
    claimed: z.int().describe('Live sandboxes of its profile now, warm or booted.'),
  })
  .meta({ id: 'Pool' });
export type PoolItem = z.output<typeof PoolItem>;

export const PoolList = z.object({ pools: z.array(PoolItem) }).meta({ id: 'PoolList' });

export const PoolParams = z.object({ id: z.string().describe('Id of the pool.') });

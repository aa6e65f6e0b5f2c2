import { z } from 'zod';
import { optional } from './fields.ts';

// Beyond any device; what counts in bits stays a whole number.
const MAX_RATE = 1e12;

const Rate = z.int().nonnegative().max(MAX_RATE);

/** Limits of I/O: each of a sandbox's disks, and its network card each way, on its own. */
export const RateLimit = z
  .strictObject({
    bandwidth_bytes_per_sec: optional(Rate).describe('Bytes a second; 0 is no limit.'),
    ops_per_sec: optional(Rate).describe(
      'Requests to a disk, and packets each way of the network card, a second; 0 is no limit.',
    ),
  })
  .refine(
    (limit) => Boolean(limit.bandwidth_bytes_per_sec) || Boolean(limit.ops_per_sec),
    'takes at least one of bandwidth_bytes_per_sec and ops_per_sec that is not 0; leave it out for no limit',
  )
  .meta({ id: 'RateLimit' });
export type RateLimit = z.output<typeof RateLimit>;

/** A limit as a sandbox shows it. */
export const RateLimitItem = z
  .object({ bandwidth_bytes_per_sec: z.int().nullable(), ops_per_sec: z.int().nullable() })
  .meta({ id: 'RateLimitItem' });

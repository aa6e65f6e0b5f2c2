import { z } from 'zod';
import { AttachedDrive, DriveRequests } from './drives.ts';
import { EgressItem, EgressPolicy } from './egress.ts';
import { Env, optional, UnixSeconds } from './fields.ts';
import { RateLimit, RateLimitItem } from './rate-limit.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A caller-given name. A UUID is refused: a name stands wherever an id does. */
export const SandboxName = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'takes 1 to 64 characters of A-Z a-z 0-9 _ -')
  .refine((name) => !UUID.test(name), 'takes a name that is not a UUID: a name stands wherever an id does');

export const Tags = z.record(z.string(), z.string());

/** Body of `POST /sandboxes`. The upper bounds of size are the daemon's settings, so the domain checks them. */
export const CreateSandbox = z
  .strictObject({
    name: optional(SandboxName).describe('Unique among live sandboxes; works wherever an id does.'),
    tags: optional(Tags).describe('Filterable at list time.'),
    vcpu_count: optional(z.int().positive()).describe('Virtual CPUs; the default is SERVICE_VCPU_COUNT.'),
    mem_size_mib: optional(z.int().positive()).describe(
      'Memory in MiB; the default is SERVICE_MEM_SIZE_MIB.',
    ),
    image_id: optional(z.string().min(1)).describe(
      'A registered image to boot from, not the default root file system.',
    ),
    drives: optional(DriveRequests).describe('Drives to attach; mounted at /mnt/drives/<id>.'),
    rate_limit: optional(RateLimit).describe('Limits of I/O; the default is none.'),
    egress: optional(EgressPolicy).describe('What it may reach; the default is everything beyond the host.'),
    env: optional(Env).describe('Environment of every command in the sandbox, for its lifetime.'),
  })
  .meta({ id: 'CreateSandbox' });
export type CreateSandbox = z.output<typeof CreateSandbox>;

/** Body of `POST /sandboxes/get-or-create`: all but the name is used only when a sandbox is created. */
export const GetOrCreate = CreateSandbox.extend({
  name: SandboxName.describe('Whose sandbox is asked for.'),
}).meta({ id: 'GetOrCreate' });
export type GetOrCreate = z.output<typeof GetOrCreate>;

/** What became of a get-or-create. */
export const GotOrCreated = z
  .object({ id: z.uuid(), created: z.boolean().describe('false: it lived, or was resumed.') })
  .meta({ id: 'GotOrCreated' });

export const NameParams = z.object({ name: z.string().describe('Name of the sandbox.') });

export const SandboxId = z.object({ id: z.uuid() }).meta({ id: 'SandboxId' });

/** One live sandbox as `GET /sandboxes` lists it. */
export const SandboxItem = z
  .object({
    id: z.uuid(),
    name: z.string().nullable(),
    tags: Tags,
    created_at_unix: UnixSeconds,
    image_id: z.string().nullable(),
    vcpu_count: z.int(),
    mem_size_mib: z.int(),
    egress: EgressItem.nullable(),
    rate_limit: RateLimitItem.nullable(),
    drives: z.array(AttachedDrive),
    jailed: z.boolean(),
    parent_snapshot_id: z.string().nullable(),
  })
  .meta({ id: 'Sandbox' });
export type SandboxItem = z.output<typeof SandboxItem>;

export const SandboxList = z.object({ sandboxes: z.array(SandboxItem) }).meta({ id: 'SandboxList' });

const TAG_PREFIX = 'tag.';

/**
 * Query of `GET /sandboxes`: any number of `tag.<key>=<value>`; a sandbox is listed when all of them match. Arrives as
 * pairs of key and value, since one key may be asked for twice (and then no sandbox matches two different values).
 */
export const SandboxFilter = z
  .record(z.string(), z.union([z.string(), z.array(z.string())]))
  .superRefine((query, ctx) => {
    for (const key of Object.keys(query)) {
      if (key.startsWith(TAG_PREFIX) && key.length > TAG_PREFIX.length) continue;
      ctx.addIssue({
        code: 'custom',
        path: [key],
        message: 'is not a query of this route; it takes tag.<key>=<value>',
      });
    }
  })
  .transform((query) =>
    Object.entries(query).flatMap(([key, values]) =>
      [values].flat().map((value) => [key.slice(TAG_PREFIX.length), value] as const),
    ),
  );

/** Query of `DELETE /sandboxes/:id`. */
export const DeleteSandboxQuery = z.strictObject({
  keep: z
    .enum(['true', 'false'], 'takes true or false')
    .default('true')
    .describe('true keeps its memory and disk as a snapshot; false destroys it with all it holds.'),
});

/** Answer of a `DELETE` that keeps. A fork is not kept: its state is in the snapshot it came from. */
export const Stopped = z
  .object({ kept: z.boolean(), snapshot_id: z.uuid().nullable() })
  .meta({ id: 'Stopped' });

/** The id or the name of a sandbox, in a path. */
export const SandboxParams = z.object({ id: z.string().describe('Id or name of the sandbox.') });

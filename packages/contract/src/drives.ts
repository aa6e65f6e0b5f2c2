import { z } from 'zod';
import { optional, UnixSeconds } from './fields.ts';

/** What an ext4 file system with a journal takes at least; and a size that file systems of hosts carry. */
const MIN_SIZE_MIB = 8;
const MAX_SIZE_MIB = 8 * 1024 * 1024;

/** How many drives a sandbox takes. Each is mounted, and settled at the end, one after the other. */
const MAX_DRIVES = 16;

/** Body of `POST /drives`. */
export const CreateDrive = z
  .strictObject({
    size_mib: z
      .int()
      .min(MIN_SIZE_MIB)
      .max(MAX_SIZE_MIB)
      .describe('Size in MiB. Room on the host is taken as it is written.'),
  })
  .meta({ id: 'CreateDrive' });
export type CreateDrive = z.output<typeof CreateDrive>;

export const DriveItem = z
  .object({
    id: z.uuid(),
    size_mib: z.int(),
    created_at_unix: UnixSeconds,
    attached_to: z
      .array(z.object({ holder: z.string(), read_only: z.boolean() }))
      .describe('Who holds it: `sandbox <id>` or `snapshot <id>`.'),
  })
  .meta({ id: 'Drive' });
export type DriveItem = z.output<typeof DriveItem>;

export const DriveList = z.object({ drives: z.array(DriveItem) }).meta({ id: 'DriveList' });

/** One of the drives that a create asks for. */
export const DriveRequest = z
  .strictObject({
    id: z.string().min(1).describe('Id of the drive; mounted at /mnt/drives/<id>.'),
    read_only: optional(z.boolean()).describe('Several may hold it at a time if all of them only read.'),
  })
  .meta({ id: 'DriveRequest' });
export type DriveRequest = z.output<typeof DriveRequest>;

/** The drives that a create asks for. */
export const DriveRequests = z
  .array(DriveRequest)
  .max(MAX_DRIVES, `takes at most ${MAX_DRIVES} drives`)
  .meta({ id: 'DriveRequests' });

/** A drive as a sandbox shows it. */
export const AttachedDrive = z.object({ id: z.uuid(), read_only: z.boolean() });

/** The id of a drive, in a path. */
export const DriveParams = z.object({ id: z.string().describe('Id of the drive.') });

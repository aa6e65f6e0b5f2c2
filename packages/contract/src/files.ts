import { z } from 'zod';
import { Base64Bytes, GuestPath, optional } from './fields.ts';

const Mode = z
  .int()
  .min(0, 'takes permission bits from 0 to 4095 (0o7777)')
  .max(0o7777, 'takes permission bits from 0 to 4095 (0o7777)');

// The largest id but one: (uid_t)-1 means "unchanged" to chown(2).
const OwnerId = z.int().min(0).max(4_294_967_294);

export const PathRequest = z.strictObject({ path: GuestPath }).meta({ id: 'PathRequest' });

export const ReadFileResult = z.object({ content_base64: z.string() }).meta({ id: 'ReadFileResult' });

export const WriteFileRequest = z
  .strictObject({ path: GuestPath, content_base64: Base64Bytes })
  .meta({ id: 'WriteFileRequest' });

export const ChmodRequest = z
  .strictObject({ path: GuestPath, mode: Mode.describe('Permission bits as a number: 0o644 is 420.') })
  .meta({ id: 'ChmodRequest' });

export const ChownRequest = z
  .strictObject({ path: GuestPath, uid: OwnerId, gid: OwnerId })
  .meta({ id: 'ChownRequest' });

export const MkdirRequest = z
  .strictObject({
    path: GuestPath,
    parents: optional(z.boolean()).describe('Make missing parents too, and accept a directory that exists.'),
  })
  .meta({ id: 'MkdirRequest' });

export const FromToRequest = z.strictObject({ from: GuestPath, to: GuestPath }).meta({ id: 'FromToRequest' });

export const SymlinkRequest = z
  .strictObject({ target: GuestPath, link_path: GuestPath })
  .meta({ id: 'SymlinkRequest' });

export const ReadlinkResult = z.object({ target: z.string() }).meta({ id: 'ReadlinkResult' });

export const TruncateRequest = z
  .strictObject({ path: GuestPath, size: z.int().min(0) })
  .meta({ id: 'TruncateRequest' });

export const DirEntry = z
  .object({
    name: z.string(),
    type: z.enum(['file', 'dir', 'symlink', 'fifo', 'socket', 'block', 'char']),
    is_dir: z.boolean(),
    is_symlink: z.boolean(),
    size: z.int(),
    mode: z.int().describe('The 12 permission bits.'),
    mtime_unix: z.int(),
  })
  .meta({ id: 'DirEntry' });
export type DirEntry = z.output<typeof DirEntry>;

export const ListDirResult = z.object({ entries: z.array(DirEntry) }).meta({ id: 'ListDirResult' });

/** Query of the raw transfers, `GET` and `PUT /sandboxes/:id/files`. */
export const RawFileQuery = z.strictObject({ path: GuestPath.describe('Path inside the sandbox.') });

/** Query of `GET` and `PUT /sandboxes/:id/archive`. */
export const ArchiveQuery = z.strictObject({
  path: GuestPath.describe(
    'Path of a directory inside the sandbox; reading takes that of a single file too.',
  ),
});

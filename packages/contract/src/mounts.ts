import { z } from 'zod';
import { cString, optional } from './fields.ts';

/** A value of the mount tool's configuration, in which a line break would begin another setting. */
const setting = (what: string) =>
  z
    .string()
    .min(1, `takes ${what} of at least one character`)
    .regex(/^[^\p{Cc}]*$/u, `takes ${what} without line breaks and control characters`)
    .refine((text) => text === text.trim(), `takes ${what} without spaces at its ends`);

/** Body of `POST /sandboxes/:id/mounts`. */
export const CreateMount = z
  .strictObject({
    bucket: setting('a bucket').describe('Name of the bucket; a path below it may follow.'),
    endpoint: setting('a URL')
      .refine(isHttpUrl, 'takes a full URL, such as https://s3.example.com')
      .describe('Full URL of the object store; there is no default.'),
    access_key: setting('a key'),
    secret_key: setting('a key').describe('Written into the guest, and kept nowhere else.'),
    mount_path: cString('a path')
      .min(1, 'takes a path of at least one character')
      .describe('Where in the guest; made with its parents if it is missing.'),
    read_only: optional(z.boolean()).describe('The default is false.'),
  })
  .meta({ id: 'CreateMount' });
export type CreateMount = z.output<typeof CreateMount>;

export const MountItem = z
  .object({
    id: z.uuid(),
    bucket: z.string(),
    endpoint: z.string(),
    mount_path: z.string(),
    read_only: z.boolean(),
  })
  .meta({ id: 'Mount' });
export type MountItem = z.output<typeof MountItem>;

export const MountList = z.object({ mounts: z.array(MountItem) }).meta({ id: 'MountList' });

/** A mount of a sandbox, in a path. */
export const MountParams = z.object({
  id: z.string().describe('Id or name of the sandbox.'),
  mount_id: z.string().describe('Id of the mount.'),
});

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol);
}

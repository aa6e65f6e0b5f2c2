import { z } from 'zod';
import { UnixSeconds } from './fields.ts';

// Not `.` and not `..`, and no separator: an id names a file in the images' directory.
const IMAGE_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** A caller-given id. */
export const ImageId = z
  .string()
  .regex(IMAGE_ID, 'takes 1 to 128 characters of A-Z a-z 0-9 . _ -, the first a letter or a digit');

/** Body of `POST /images`. */
export const RegisterImage = z
  .strictObject({
    id: ImageId.describe('What sandboxes ask for it by.'),
    path: z
      .string()
      .regex(/^\/[^\0]*$/, 'takes an absolute path')
      .max(4095, 'takes a path of at most 4095 characters')
      .describe('An ext4 file on the host, which is copied.'),
  })
  .meta({ id: 'RegisterImage' });
export type RegisterImage = z.output<typeof RegisterImage>;

export const ImageItem = z
  .object({
    id: ImageId,
    size_mib: z.int(),
    created_at_unix: UnixSeconds,
    in_use_by: z
      .array(z.string())
      .nullable()
      .describe('Who boots from it: `sandbox <id>` or `snapshot <id>`; null when nobody does.'),
    guest_agent_verified: z.literal(false),
    verification_hint: z.string().describe('How to look into the image, which the daemon cannot.'),
  })
  .meta({ id: 'Image' });
export type ImageItem = z.output<typeof ImageItem>;

export const ImageList = z.object({ images: z.array(ImageItem) }).meta({ id: 'ImageList' });

/** The id of an image, in a path. */
export const ImageParams = z.object({ id: z.string().describe('Id of the image.') });

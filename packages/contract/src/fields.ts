import { z } from 'zod';

/** An optional field: absent and `null` are the same, and both arrive as `undefined`. */
export function optional<T extends z.ZodType>(schema: T) {
  return schema
    .nullish()
    .transform((value) => value ?? undefined)
    .optional();
}

// A NUL ends a C string: a path or argument that holds one means something else to the guest's kernel.
const NO_NUL = /^[^\0]*$/;

/** Text that reaches the guest as a C string. */
export const cString = (what: string) => z.string().regex(NO_NUL, `takes ${what} without NUL characters`);

/** A path inside the guest: absolute, or relative to `/`. At most PATH_MAX (4096, linux/limits.h) less its NUL. */
export const GuestPath = cString('a path')
  .min(1, 'takes a path of at least one character')
  .max(4095, 'takes a path of at most 4095 characters');

/** Environment variables. A name is what `environ(7)` can hold: not empty, no `=`, no NUL. */
export const Env = z.record(
  z.string().regex(/^[^=\0]+$/, 'takes names that are not empty and hold neither "=" nor NUL'),
  cString('values'),
);

/** Seconds since 1970-01-01T00:00:00Z. */
export const UnixSeconds = z.int().nonnegative();

/**
 * Bytes in base64 (RFC 4648, padded or not; the URL alphabet is taken too), decoded once, here. A regular expression is
 * no use: on tens of megabytes it overflows the engine's stack. Buffer skips what is not base64, so a count tells.
 */
export const Base64Bytes = z.string().transform((text, ctx) => {
  const bytes = Buffer.from(text, 'base64');
  const digits = text.endsWith('==') ? text.length - 2 : text.endsWith('=') ? text.length - 1 : text.length;
  if (bytes.length === Math.floor((digits * 3) / 4) && digits % 4 !== 1) return bytes;
  ctx.addIssue({ code: 'custom', message: 'takes base64' });
  return z.NEVER;
});

import { z } from 'zod';

// What the agent may answer. A guest is not trusted: whatever does not fit is treated as an agent that is lost.

export const Health = z.object({
  generation: z.int(),
  version: z.string().max(64),
  kernel: z.string().max(128),
});

export const Refusal = z.object({ errno: z.string().max(32), message: z.string().max(16_384) });

export const Started = z.object({ pid: z.int().positive() });

export const Connected = z.object({ id: z.int().positive() });

export const Exit = z.object({ exit_code: z.int(), timed_out: z.boolean() });

export const Link = z.object({ target: z.string() });

export const Listing = z.object({
  entries: z.array(
    z.object({
      name: z.string(),
      type: z.enum(['file', 'dir', 'symlink', 'fifo', 'socket', 'block', 'char']),
      is_dir: z.boolean(),
      is_symlink: z.boolean(),
      size: z.int(),
      mode: z.int(),
      mtime_unix: z.int(),
    }),
  ),
});

import { z } from 'zod';
import type { Identity } from '../../ports/agent.ts';

/** The body of `POST /configure`, and of a NAMED. */
export function identityRequest(identity: Identity): object {
  const { env, hostname, machineId, clockUnixNs, entropy, network } = identity;
  return {
    env,
    hostname,
    machine_id: machineId,
    clock_unix_ns: clockUnixNs?.toString(),
    entropy_base64: entropy && Buffer.from(entropy).toString('base64'),
    network: network && {
      mac: network.mac,
      address: `${network.address}/${network.prefixLength}`,
      gateway: network.gateway,
    },
  };
}

// What the agent may answer. A guest is not trusted: whatever does not fit is treated as an agent that is lost.

export const Health = z.object({
  generation: z.int(),
  version: z.string().max(64),
  kernel: z.string().max(128),
});

export const Refusal = z.object({ errno: z.string().max(32), message: z.string().max(16_384) });

export const Started = z.object({ pid: z.int().positive() });

export const Connected = z.object({ id: z.int().positive() });

// 128 and the number of a signal is the most that a command comes to.
export const Exit = z.object({ exit_code: z.int().min(0).max(255), timed_out: z.boolean() });

// PATH_MAX (linux/limits.h).
export const Link = z.object({ target: z.string().max(4096) });

// NAME_MAX bytes (linux/limits.h), none of them a slash or a NUL. A name that leads elsewhere is for no client's path.
const Name = z
  .string()
  .min(1)
  .max(255)
  .refine((name) => !/[/\0]/.test(name) && name !== '.' && name !== '..');

const Entry = z.object({
  name: Name,
  type: z.enum(['file', 'dir', 'symlink', 'fifo', 'socket', 'block', 'char']),
  is_dir: z.boolean(),
  is_symlink: z.boolean(),
  size: z.int().nonnegative(),
  mode: z.int().min(0).max(0o7777),
  mtime_unix: z.int(),
});

// An array's own check goes through all of it, and a million faults take more memory than a million entries.
export const Listing = z.object({
  entries: z.array(z.unknown()).transform((entries) => entries.map((entry) => Entry.parse(entry))),
});

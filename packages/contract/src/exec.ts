import { z } from 'zod';
import { Base64Bytes, cString, Env, GuestPath, optional } from './fields.ts';

// setTimeout's own ceiling, a signed 32-bit count of milliseconds: 24.8 days.
const MAX_TIMEOUT_MS = 2_147_483_647;

/** Body of `POST /sandboxes/:id/exec`. */
export const ExecRequest = z
  .strictObject({
    command: cString('a program').min(1, 'takes a program to run, by path or by name in PATH'),
    args: optional(z.array(cString('an argument'))).describe(
      'Arguments, passed as they are: no shell reads them.',
    ),
    env: optional(Env).describe("Merged over the sandbox's env; these values win."),
    cwd: optional(GuestPath).describe('Working directory; / when absent.'),
    timeout_ms: optional(z.int().positive().max(MAX_TIMEOUT_MS)).describe(
      'Kills the command after this many milliseconds; exit_code is 124 and timed_out true then.',
    ),
    stdin_base64: optional(Base64Bytes).describe('Bytes for the standard input, in base64.'),
    user: optional(cString('a user').min(1, 'takes a user name, a uid or uid:gid')).describe(
      'User name, uid or uid:gid; root when absent.',
    ),
  })
  .meta({ id: 'ExecRequest' });
export type ExecRequest = z.output<typeof ExecRequest>;

/** What a command left behind. */
export const ExecResult = z
  .object({
    stdout: z.string().describe('UTF-8; bytes that are not are replaced by U+FFFD.'),
    stderr: z.string(),
    exit_code: z
      .int()
      .describe('127: not found; 126: not executable; 128+N: killed by signal N; 124: timed out.'),
    timed_out: z.literal(true).optional(),
    stdout_base64: z.string().optional().describe('The exact bytes, when they were not UTF-8.'),
    stderr_base64: z.string().optional(),
    truncated: z
      .literal(true)
      .optional()
      .describe('Output beyond SERVICE_MAX_EXEC_OUTPUT_BYTES of a stream was dropped.'),
  })
  .meta({ id: 'ExecResult' });
export type ExecResult = z.output<typeof ExecResult>;

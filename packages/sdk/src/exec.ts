import type { Atoll } from './atoll.ts';
import { toBase64, toBytes } from './bytes.ts';
import type { CallOptions } from './deadline.ts';
import type { ExecRequest, ExecResult } from './generated/api.ts';

export type { ExecResult } from './generated/api.ts';

/** How a command runs. `timeout_ms` ends the command, which is a result; `timeoutMs` and `signal` end the call, and the command with it. */
export interface ExecOptions extends Pick<ExecRequest, 'env' | 'cwd' | 'user' | 'timeout_ms'>, CallOptions {
  /** What the command reads; nothing when absent. */
  readonly stdin?: string | Uint8Array | undefined;
}

// What a command's own end may take on top of its time.
const GRACE_MS = 30_000;

/** Runs a command to its end. There is no time limit unless one is given. */
export async function exec(
  atoll: Atoll,
  id: string,
  command: string,
  args: readonly string[],
  options: ExecOptions,
): Promise<ExecResult> {
  const { stdin, timeoutMs, signal, timeout_ms, ...how } = options;
  return atoll.call('post', '/sandboxes/{id}/exec', {
    params: { id },
    body: {
      ...how,
      command,
      args: [...args],
      ...(timeout_ms === undefined ? {} : { timeout_ms }),
      ...(stdin === undefined ? {} : { stdin_base64: toBase64(toBytes(stdin)) }),
    },
    timeoutMs: timeoutMs ?? (timeout_ms ?? Infinity) + GRACE_MS,
    signal,
  });
}

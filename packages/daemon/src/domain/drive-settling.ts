import { Deadline } from '../lib/deadline.ts';
import type { AgentSession } from '../ports/agent.ts';
import type { Machine } from '../ports/vmm.ts';
import type { Sandbox } from './sandbox.ts';

// What a guest of 16 GiB may hold back takes this long on a slow disk. A daemon that ends waits less (main.ts).
const SETTLE_MS = 60_000;

/**
 * Has a guest write out what it holds back for its drives, and leave their file systems in order, before its machine is ended. A
 * machine that ended by itself has nothing more to say: the next writer of its drives replays their journals.
 */
export async function settleDrives(sandbox: Sandbox, machine: Machine, agent: AgentSession): Promise<void> {
  if (sandbox.drives.every(({ readOnly }) => readOnly)) return;
  using deadline = Deadline.in(SETTLE_MS, 'writing out the drives');
  const ended = machine.exited.then(() => 'ended' as const);
  const settled = agent.freezeDrives(deadline.signal);
  try {
    await Promise.race([ended, settled]);
  } catch (error) {
    // The connection breaks a moment before the end is known.
    if ((await Promise.race([ended, pause()])) !== 'ended') throw error;
  } finally {
    settled.catch(() => undefined);
  }
}

const EXIT_NOTICE_MS = 200;

function pause(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, EXIT_NOTICE_MS));
}

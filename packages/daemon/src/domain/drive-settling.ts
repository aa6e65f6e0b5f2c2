import { setTimeout as sleep } from 'node:timers/promises';
import { Deadline } from '../lib/deadline.ts';
import type { AgentSession } from '../ports/agent.ts';
import type { Machine } from '../ports/vmm.ts';
import type { Sandbox } from './sandbox.ts';

/** What a guest of 16 GiB may hold back takes this long on a slow disk. A daemon that ends waits for it (shutdown.ts). */
export const SETTLE_MS = 60_000;

const EXIT_NOTICE_MS = 200;

/**
 * Has a guest write out what it holds back for its drives, and leave their file systems in order, before its machine is ended. A
 * machine that ended by itself has nothing more to say: the next writer of its drives replays their journals. A limit of I/O does
 * not hold any more then: at a low rate the end would take for ever, or what was written be lost.
 */
export async function settleDrives(sandbox: Sandbox, machine: Machine, agent: AgentSession): Promise<void> {
  if (sandbox.drives.every(({ readOnly }) => readOnly)) return;
  using deadline = Deadline.in(SETTLE_MS, 'writing out the drives');
  const ended = machine.exited.then(() => 'ended' as const);
  const settled = writeOut(sandbox, machine, agent, deadline);
  try {
    await Promise.race([ended, settled]);
  } catch (error) {
    // The connection breaks a moment before the end is known.
    if ((await Promise.race([ended, sleep(EXIT_NOTICE_MS, undefined)])) !== 'ended') throw error;
  } finally {
    settled.catch(() => undefined);
  }
}

async function writeOut(
  { rateLimit }: Sandbox,
  machine: Machine,
  agent: AgentSession,
  deadline: Deadline,
): Promise<void> {
  if (rateLimit !== undefined) await machine.liftDriveLimits(deadline);
  await agent.freezeDrives(deadline.signal);
}

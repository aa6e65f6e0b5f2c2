import { randomBytes } from 'node:crypto';
import type { Deadline } from '../lib/deadline.ts';
import { tellTime } from '../lib/guest-clock.ts';
import type { AgentLine, AgentSession, Identity } from '../ports/agent.ts';
import type { Sandbox } from './sandbox.ts';

// What the guest's kernel credits as a full pool: 256 bits (random(4)).
const ENTROPY_BYTES = 32;

/** The first generation of agents that take time and randomness while their line is opened. */
const AWAKE_GENERATION = 6;

type Named = Pick<Sandbox, 'id' | 'name'>;

/** The names a guest has by its sandbox. */
export function namesOf(sandbox: Named): Pick<Identity, 'hostname' | 'machineId'> {
  return { hostname: hostnameOf(sandbox), machineId: sandbox.id.replaceAll('-', '') };
}

/** Tells a guest who it is, and what it needs each time it begins to run: the time, and randomness that no other has. */
export async function configure(
  session: AgentSession,
  identity: Identity,
  signal: AbortSignal,
): Promise<void> {
  let news: Identity = { ...identity, entropy: randomBytes(ENTROPY_BYTES) };
  await tellTime(async (clockUnixNs) => {
    await session.configure({ ...news, clockUnixNs }, signal);
    news = {};
  });
}

/**
 * Opens a session with a guest that comes out of a snapshot: it has the time, and randomness that no other has, before anybody can talk to
 * it.
 * @param generation that of its agent, as the snapshot has it.
 */
export async function wakeGuest(
  line: AgentLine,
  generation: number,
  deadline: Deadline,
): Promise<AgentSession> {
  if (generation >= AWAKE_GENERATION) return line.awaken(deadline);
  const session = await line.open(deadline);
  try {
    await configure(session, {}, deadline.signal);
    return session;
  } catch (error) {
    session.close();
    throw error;
  }
}

/** Tells a guest that is awake what is news to it, if anything is. */
export async function tell(session: AgentSession, news: Identity, signal: AbortSignal): Promise<void> {
  if (Object.values(news).some((each) => each !== undefined)) await session.configure(news, signal);
}

/** A sandbox's name made a host name, in which neither an underscore nor a hyphen at an end may stand (RFC 1123). */
function hostnameOf({ id, name = '' }: Named): string {
  const hostname = name.replaceAll('_', '-').replace(/^-+|-+$/g, '');
  return hostname === '' ? id.slice(0, 8) : hostname;
}

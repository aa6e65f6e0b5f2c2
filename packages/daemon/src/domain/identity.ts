import { randomBytes } from 'node:crypto';
import type { Deadline } from '../lib/deadline.ts';
import { tellTime } from '../lib/guest-clock.ts';
import type { AgentLine, AgentSession, Identity } from '../ports/agent.ts';
import type { Sandbox } from './sandbox.ts';

// What the guest's kernel credits as a full pool: 256 bits (random(4)).
const ENTROPY_BYTES = 32;

/** The first generation of agents that take time and randomness while their line is opened. */
const AWAKE_GENERATION = 6;
/** The first that take who they are then, too. */
const NAMED_GENERATION = 7;

/** What the agent that a daemon boots is at least of: it is built with it (COMPATIBILITY.md). */
export const BOOTED_GENERATION = NAMED_GENERATION;

type Named = Pick<Sandbox, 'id' | 'name'>;

/** The names a guest has by its sandbox. */
export function namesOf(sandbox: Named): Pick<Identity, 'hostname' | 'machineId'> {
  return { hostname: hostnameOf(sandbox), machineId: sandbox.id.replaceAll('-', '') };
}

/** Tells a guest over its session who it is, and what it needs each time it begins to run: the time, and randomness that no other has. */
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
 * Opens a session with a guest that begins to run: before anybody can talk to it, it has the time, randomness that no other has, and what
 * is news to it.
 * @param generation that of its agent: as the snapshot has it that it comes out of, or `BOOTED_GENERATION`.
 */
export async function wakeGuest(
  line: AgentLine,
  generation: number,
  news: Identity,
  deadline: Deadline,
): Promise<AgentSession> {
  const { env, ...names } = news;
  const isAwakened = generation >= AWAKE_GENERATION;
  const isNamed = generation >= NAMED_GENERATION && isNews(names);
  const session = await (isAwakened
    ? line.awaken(isNamed ? names : undefined, deadline)
    : line.open(deadline));
  const untold: Identity = isNamed ? { ...(env && { env }) } : news;
  try {
    if (!isAwakened) await configure(session, untold, deadline.signal);
    else if (isNews(untold)) await session.configure(untold, deadline.signal);
    return session;
  } catch (error) {
    session.close();
    throw error;
  }
}

function isNews(identity: Identity): boolean {
  return Object.values(identity).some((each) => each !== undefined);
}

/** A sandbox's name made a host name, in which neither an underscore nor a hyphen at an end may stand (RFC 1123). */
function hostnameOf({ id, name = '' }: Named): string {
  const hostname = name.replaceAll('_', '-').replace(/^-+|-+$/g, '');
  return hostname === '' ? id.slice(0, 8) : hostname;
}

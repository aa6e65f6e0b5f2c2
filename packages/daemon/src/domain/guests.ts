import { setTimeout as sleep } from 'node:timers/promises';
import { ERRNOS } from '@atoll/contract/errors';
import type { Errno } from '@atoll/contract/errors';
import { AtollError } from '../lib/errors.ts';
import { AgentLost, GuestError } from '../ports/agent.ts';
import type { AgentSession } from '../ports/agent.ts';
import type { Activity } from './activity.ts';
import type { Registry } from './registry.ts';

// A machine's end is noticed when its process has been reaped, a moment after its socket closed.
const EXIT_NOTICE_MS = 200;

/** The way to what runs inside a sandbox: every call to a guest's agent goes through here. */
export class Guests {
  readonly #registry: Registry;
  readonly #activity: Activity;

  constructor(registry: Registry, activity: Activity) {
    this.#registry = registry;
    this.#activity = activity;
  }

  /** The id of a live sandbox. Throws as `reach` does. */
  idOf(idOrName: string): string {
    return this.#registry.live(idOrName, 'be reached').sandbox.id;
  }

  /**
   * Does something with the agent of a live sandbox. Throws NOT_FOUND or ILLEGAL_STATE as the sandbox may be, the errno when
   * the guest refuses, SANDBOX_UNREACHABLE when the guest is gone or hung.
   */
  async reach<T>(idOrName: string, action: (agent: AgentSession) => Promise<T>): Promise<T> {
    const { sandbox, running } = this.#registry.live(idOrName, 'be reached');
    using _busy = this.#activity.begin(sandbox.id);
    try {
      return await action(running.agent);
    } catch (error) {
      if (error instanceof GuestError) throw AtollError.guest(knownErrno(error.errno), error.message);
      if (!(error instanceof AgentLost)) throw error;
      const ended = await Promise.race([running.machine.exited, sleep(EXIT_NOTICE_MS, undefined)]);
      throw AtollError.of('SANDBOX_UNREACHABLE', { id: sandbox.id, reason: ended ?? error.message }, error);
    }
  }
}

/** The closed set has no name for the rarest: those are EIO, and the message still says which. */
function knownErrno(errno: string): Errno {
  return ERRNOS.find((known) => known === errno) ?? 'EIO';
}

import type { Readable } from 'node:stream';
import { ERRNOS } from '@atoll/contract/errnos';
import type { Errno } from '@atoll/contract/errnos';
import { AtollError } from '../lib/errors.ts';
import { AgentLost, AgentOutdated, GuestError } from '../ports/agent.ts';
import type { AgentSession } from '../ports/agent.ts';
import type { Activity } from './activity.ts';
import { endOf } from './machine-end.ts';
import type { LiveSandbox, Registry } from './registry.ts';

/** What is done with the agent of a live sandbox. */
export type Action<T> = (agent: AgentSession, live: LiveSandbox) => Promise<T>;

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
   * the guest refuses, AGENT_OUTDATED when its agent is too old, SANDBOX_UNREACHABLE when the guest is gone or hung.
   */
  async reach<T>(idOrName: string, action: Action<T>): Promise<T> {
    const { sandbox } = this.#registry.live(idOrName, 'be reached');
    using _busy = this.#activity.begin(sandbox.id);
    return await this.#act(idOrName, action);
  }

  /** As `reach`, for bytes that are read on afterwards: the sandbox is in use until their stream has closed. */
  async open<T extends { readonly body: Readable }>(idOrName: string, action: Action<T>): Promise<T> {
    const { sandbox } = this.#registry.live(idOrName, 'be reached');
    using held = new DisposableStack();
    held.use(this.#activity.begin(sandbox.id));
    const opened = await this.#act(idOrName, action);
    const busy = held.move();
    opened.body.once('close', () => busy.dispose());
    return opened;
  }

  async #act<T>(idOrName: string, action: Action<T>): Promise<T> {
    const live = this.#registry.live(idOrName, 'be reached');
    const { sandbox, running } = live;
    try {
      return await action(running.agent, live);
    } catch (error) {
      if (error instanceof GuestError) throw AtollError.guest(knownErrno(error.errno), error.message);
      if (error instanceof AgentOutdated) throw AtollError.of('AGENT_OUTDATED', { id: sandbox.id }, error);
      if (!(error instanceof AgentLost)) throw error;
      throw unreachable(sandbox.id, error, await endOf(running.machine));
    }
  }
}

/** What the failure of bytes that were still to be read is told as; undefined where no agent failed. */
export function bodyFailure(id: string, error: unknown): AtollError | undefined {
  return error instanceof AgentLost ? unreachable(id, error) : undefined;
}

function unreachable(id: string, error: AgentLost, ended?: string): AtollError {
  return AtollError.of('SANDBOX_UNREACHABLE', { id, reason: ended ?? error.message }, error);
}

/** The closed set has no name for the rarest: those are EIO, and the message still says which. */
function knownErrno(errno: string): Errno {
  return ERRNOS.find((known) => known === errno) ?? 'EIO';
}

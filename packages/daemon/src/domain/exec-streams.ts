import type { ExecStreamRequest, ExecStreamSession } from '@atoll/contract/exec-stream';
import { once } from 'node:events';
import type { Logger } from 'pino';
import { Deadline } from '../lib/deadline.ts';
import { AtollError, reasonOf } from '../lib/errors.ts';
import { GuestError } from '../ports/agent.ts';
import { ExecSession } from './exec-session.ts';
import type { Guests } from './guests.ts';
import type { OpenStream, Streams } from './streams.ts';

// What is kept of each sandbox's ended sessions: 200 full logs are 200 MiB.
const ENDED_KEPT = 200;
const MAX_RUNNING = 1000;

// As env(1) has it: the command was found, or not looked for, and could not be started.
const NOT_STARTED = 126;

const SIGNAL_MS = 10_000;
// A command that has read nothing for so long is not going to.
const STDIN_MS = 30_000;

/** Commands that run in the background, with logs that can be read at any time. In memory: they end with the daemon. */
export class ExecStreams {
  readonly #guests: Guests;
  readonly #streams: Streams;
  readonly #log: Logger;
  readonly #sessions = new Map<string, Map<string, ExecSession>>();

  constructor(guests: Guests, streams: Streams, log: Logger) {
    this.#guests = guests;
    this.#streams = streams;
    this.#log = log;
    streams.onLeft((sandboxId) => this.#sessions.delete(sandboxId));
  }

  /** Begins a command and answers the session at once; a command that cannot be started says so in its log. */
  start(idOrName: string, request: ExecStreamRequest): string {
    const sandboxId = this.#guests.idOf(idOrName);
    const stream = this.#streams.open(sandboxId, 'exec_stream', MAX_RUNNING);
    const session = new ExecSession(request.command, request.args ?? []);
    const sessions = this.#sessions.get(sandboxId) ?? new Map<string, ExecSession>();
    this.#sessions.set(sandboxId, sessions.set(session.id, session));
    forgetOldest(sessions);
    void this.#run(sandboxId, session, request, stream);
    return session.id;
  }

  /** The sessions of a sandbox, oldest first. */
  list(idOrName: string): ExecStreamSession[] {
    const sessions = this.#sessions.get(this.#guests.idOf(idOrName));
    return [...(sessions?.values() ?? [])].map((session) => session.toItem());
  }

  /** A session, and a stream to read its log by. */
  read(idOrName: string, sessionId: string): { session: ExecSession; stream: OpenStream } {
    const session = this.#find(idOrName, sessionId);
    return { session, stream: this.#streams.open(this.#guests.idOf(idOrName), 'logs') };
  }

  /** Signals the process group of a command. One that has ended is left alone. */
  async signal(idOrName: string, sessionId: string, name: string): Promise<void> {
    const session = this.#find(idOrName, sessionId);
    using deadline = Deadline.in(SIGNAL_MS, 'the signal');
    await this.#guests.reach(idOrName, async () => {
      const command = await deadline.race(session.running());
      try {
        await command?.signal(name, deadline.signal);
      } catch (error) {
        if (!(error instanceof GuestError) || error.errno !== 'ESRCH') throw error;
      }
    });
  }

  /** Feeds a command's standard input: all of it or, with an error, nothing. */
  async feed(idOrName: string, sessionId: string, bytes: Uint8Array, isLast: boolean): Promise<void> {
    const session = this.#find(idOrName, sessionId);
    using deadline = Deadline.in(STDIN_MS, 'the input');
    const { input } = await this.#guests.reach(idOrName, () => deadline.race(session.command()));
    try {
      // Of all who wait, the first takes what room there is.
      while (input.writableNeedDrain) await once(input, 'drain', { signal: deadline.signal });
    } catch {
      // An input fails for nothing else than the command's end.
      if (deadline.signal.aborted) throw AtollError.of('STDIN_FULL', { id: sessionId });
    }
    if (input.writableEnded || input.destroyed) throw AtollError.of('SESSION_ENDED', { id: sessionId });
    if (bytes.length > 0) input.write(bytes);
    if (isLast) input.end();
  }

  async #run(
    sandboxId: string,
    session: ExecSession,
    { command, args = [], env = {}, cwd, user }: ExecStreamRequest,
    stream: OpenStream,
  ): Promise<void> {
    using _open = stream;
    try {
      const running = await this.#guests.reach(sandboxId, (agent) =>
        agent.start({ command, args, env, cwd, user }, stream.left),
      );
      session.attach(running);
      for await (const chunk of running.output as AsyncIterable<Buffer>) {
        stream.count('out', chunk.length);
        session.push(chunk);
      }
      session.end((await running.exited).exitCode);
    } catch (error) {
      const refused = error instanceof AtollError && error.status === 400;
      session.push(Buffer.from(`${command}: ${reasonOf(error)}\n`));
      session.end(refused ? NOT_STARTED : null);
      if (!refused && !stream.left.aborted)
        this.#log.warn({ sandbox_id: sandboxId, reason: reasonOf(error) }, 'background command lost');
    }
  }

  #find(idOrName: string, sessionId: string): ExecSession {
    const session = this.#sessions.get(this.#guests.idOf(idOrName))?.get(sessionId);
    if (session === undefined)
      throw AtollError.of('NOT_FOUND', { kind: 'exec-stream session', id: sessionId });
    return session;
  }
}

function forgetOldest(sessions: Map<string, ExecSession>): void {
  const ended = [...sessions.values()].filter(({ ended }) => ended);
  for (const { id } of ended.slice(0, Math.max(0, ended.length - ENDED_KEPT))) sessions.delete(id);
}

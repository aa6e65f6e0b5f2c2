import type { ClientHttp2Stream } from 'node:http2';
import type { AgentLost } from '../../ports/agent.ts';
import type { AgentResponse } from './connection.ts';

/** How the streams of a session reach its agent. */
export interface Calls {
  /** Sends a request whose body `send` writes. The signal ends the whole stream. Refusals are GuestErrors. */
  send(
    headers: Record<string, string>,
    send: (stream: ClientHttp2Stream) => void,
    signal: AbortSignal,
  ): Promise<AgentResponse>;
  /** A JSON call without an answer. */
  post(path: string, body: object, signal: AbortSignal): Promise<void>;
  /** The error of a stream that ended before its time. */
  lost(cause: unknown): AgentLost;
}

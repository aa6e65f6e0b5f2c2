import {
  EndSessionQuery,
  ExecStreamId,
  ExecStreamList,
  ExecStreamParams,
  ExecStreamRequest,
  StdinRequest,
} from '@atoll/contract/exec-stream';
import { SandboxParams } from '@atoll/contract/sandboxes';
import { SocketQuery } from '@atoll/contract/streams';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import type { ExecSession } from '../../domain/exec-session.ts';
import type { OpenStream } from '../../domain/streams.ts';
import { GUEST_ERRORS, NoContent, SOCKET_ANSWERS } from '../schemas.ts';
import type { Services } from '../services.ts';
import { CLOSE } from '../socket.ts';
import type { Socket } from '../socket.ts';
import type { Upgrades } from '../upgrades.ts';

const tags = ['exec-stream'];

/** Background commands and their logs. */
export function execStreamRoutes({ execStreams }: Services, upgrades: Upgrades): FastifyPluginCallbackZod {
  return (app, _options, done) => {
    app.post(
      '/sandboxes/:id/exec-stream',
      {
        schema: {
          tags,
          summary: 'Start a command in the background; answers at once',
          params: SandboxParams,
          body: ExecStreamRequest,
          response: { 200: ExecStreamId, ...GUEST_ERRORS },
        },
      },
      (request) => ({ id: execStreams.start(request.params.id, request.body) }),
    );
    app.get(
      '/sandboxes/:id/exec-stream',
      {
        schema: {
          tags,
          summary: "List a sandbox's background commands, oldest first",
          params: SandboxParams,
          response: { 200: ExecStreamList, ...GUEST_ERRORS },
        },
      },
      (request) => ({ sessions: execStreams.list(request.params.id) }),
    );
    app.get(
      '/sandboxes/:id/exec-stream/:session_id/logs',
      {
        config: { queryToken: true },
        schema: {
          tags,
          summary: 'Read the log of a background command over a WebSocket: what was kept, then what comes',
          description:
            'Binary messages are output. Text messages are remarks: bytes that were dropped, and the exit code.',
          params: ExecStreamParams,
          querystring: SocketQuery,
          response: SOCKET_ANSWERS,
        },
      },
      async (request, reply) => {
        // First, so that a plain request too is told that there is no such session: browsers see no more of a handshake.
        const { session, stream } = execStreams.read(request.params.id, request.params.session_id);
        using _open = stream;
        upgrades.require(request);
        await sendLog(session, stream, await upgrades.accept(request, reply));
      },
    );
    app.post(
      '/sandboxes/:id/exec-stream/:session_id/stdin',
      {
        schema: {
          tags,
          summary: 'Feed the standard input of a background command',
          params: ExecStreamParams,
          body: StdinRequest,
          response: { 204: NoContent, ...GUEST_ERRORS },
        },
      },
      async (request, reply) => {
        const { stdin = '', stdin_base64: bytes = Buffer.alloc(0), eof = false } = request.body;
        const input = Buffer.concat([Buffer.from(stdin), bytes]);
        await execStreams.feed(request.params.id, request.params.session_id, input, eof);
        return reply.status(204).send(null);
      },
    );
    app.delete(
      '/sandboxes/:id/exec-stream/:session_id',
      {
        schema: {
          tags,
          summary: 'Signal a background command; its log stays',
          params: ExecStreamParams,
          querystring: EndSessionQuery,
          response: { 204: NoContent, ...GUEST_ERRORS },
        },
      },
      async (request, reply) => {
        await execStreams.signal(request.params.id, request.params.session_id, request.query.signal);
        return reply.status(204).send(null);
      },
    );
    done();
  };
}

/** Sends a log to its end, as fast as the client takes it. */
async function sendLog(session: ExecSession, stream: OpenStream, socket: Socket): Promise<void> {
  const over = AbortSignal.any([socket.gone, stream.left]);
  stream.left.addEventListener('abort', () => socket.fail(stream.left.reason), { once: true });
  socket.onMessage(() => undefined);
  try {
    for await (const piece of session.follow(over)) {
      if (typeof piece !== 'string') stream.count('out', piece.length);
      await socket.send(piece);
    }
  } catch {
    return; // The client has gone, or was told.
  }
  if (session.exitCode === null)
    await socket.finish(CLOSE.internal, 'the end of the command cannot be known');
  else await socket.finish(CLOSE.normal, '');
}

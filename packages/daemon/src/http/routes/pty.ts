import { PTY_PROTOCOL, PtyControl, PtyQuery } from '@atoll/contract/pty';
import type { PtyEvent } from '@atoll/contract/pty';
import { SandboxParams } from '@atoll/contract/sandboxes';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import type { PtySession } from '../../domain/ptys.ts';
import { reasonOf } from '../../lib/errors.ts';
import { SOCKET_ANSWERS } from '../schemas.ts';
import type { Services } from '../services.ts';
import { CLOSE } from '../socket.ts';
import type { Socket } from '../socket.ts';
import type { Upgrades } from '../upgrades.ts';

/** Terminals over WebSockets. */
export function ptyRoutes({ ptys }: Services, upgrades: Upgrades): FastifyPluginCallbackZod {
  return (app, _options, done) => {
    app.get(
      '/sandboxes/:id/pty',
      {
        config: { queryToken: true },
        schema: {
          tags: ['pty'],
          summary: 'Open a login shell on a terminal, over a WebSocket',
          description: [
            'Binary messages are terminal bytes, both ways; so are text messages from the client.',
            `With the subprotocol ${PTY_PROTOCOL}, text messages are JSON: {"type": "resize", "cols", "rows"} from the client,`,
            '{"type": "resized", "cols", "rows"}, {"type": "error", "error"} and {"type": "exit", "exit_code"} from the daemon.',
            'When the shell ends the socket closes with 1000 and the reason "exit <code>".',
          ].join(' '),
          params: SandboxParams,
          querystring: PtyQuery,
          response: SOCKET_ANSWERS,
        },
      },
      async (request, reply) => {
        upgrades.require(request);
        const { cols, rows } = request.query;
        await using session = await ptys.open(request.params.id, { cols, rows });
        await converse(session, await upgrades.accept(request, reply));
      },
    );
    done();
  };
}

/** Passes bytes both ways until the shell ends or the client leaves. Whoever is slow makes the other side wait. */
async function converse(session: PtySession, socket: Socket): Promise<void> {
  const { terminal, stream } = session;
  const { output, input } = terminal;
  const tell =
    socket.protocol === PTY_PROTOCOL ? (event: PtyEvent) => socket.send(JSON.stringify(event)) : noEvents;
  stream.left.addEventListener('abort', () => socket.fail(stream.left.reason), { once: true });
  socket.gone.addEventListener('abort', () => output.destroy(), { once: true });
  socket.onMessage((data, isBinary) => {
    if (!isBinary && socket.protocol === PTY_PROTOCOL) {
      void control(session, data, tell);
      return;
    }
    stream.count('in', data.length);
    if (input.write(data)) return;
    socket.setPaused(true);
    input.once('drain', () => socket.setPaused(false));
  });
  try {
    for await (const chunk of output as AsyncIterable<Buffer>) {
      stream.count('out', chunk.length);
      await socket.send(chunk);
    }
    const { exitCode } = await terminal.exited;
    await tell({ type: 'exit', exit_code: exitCode });
    void socket.finish(CLOSE.normal, `exit ${exitCode}`);
  } catch (error) {
    if (!socket.gone.aborted && !stream.left.aborted) socket.fail(error);
  }
}

async function control(
  session: PtySession,
  data: Buffer,
  tell: (event: PtyEvent) => Promise<void>,
): Promise<void> {
  try {
    const { cols, rows } = PtyControl.parse(JSON.parse(data.toString()));
    await session.resize({ cols, rows });
    await tell({ type: 'resized', cols, rows });
  } catch (error) {
    const isMalformed = error instanceof SyntaxError || (error as Error).name === 'ZodError';
    await tell({
      type: 'error',
      error: isMalformed ? 'takes {"type": "resize", "cols": n, "rows": n}' : reasonOf(error),
    });
  }
}

function noEvents(): Promise<void> {
  return Promise.resolve();
}

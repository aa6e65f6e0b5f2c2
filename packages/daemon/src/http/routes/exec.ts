import { ExecRequest, ExecResult } from '@atoll/contract/exec';
import { SandboxParams } from '@atoll/contract/sandboxes';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { clientGone } from '../abort.ts';
import type { Services } from '../services.ts';
import { GUEST_ERRORS } from '../schemas.ts';

/** Commands that run to their end. */
export function execRoutes({ exec }: Services): FastifyPluginCallbackZod {
  return (app, _options, done) => {
    app.post(
      '/sandboxes/:id/exec',
      {
        schema: {
          tags: ['exec'],
          summary: 'Run a command to its end; the command dies with the request',
          params: SandboxParams,
          body: ExecRequest,
          response: { 200: ExecResult, ...GUEST_ERRORS },
        },
      },
      (request, reply) => exec.run(request.params.id, request.body, clientGone(reply)),
    );
    done();
  };
}

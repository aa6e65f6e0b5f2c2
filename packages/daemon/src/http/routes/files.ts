import {
  ChmodRequest,
  ChownRequest,
  FromToRequest,
  ListDirResult,
  MkdirRequest,
  PathRequest,
  ReadFileResult,
  ReadlinkResult,
  SymlinkRequest,
  TruncateRequest,
  WriteFileRequest,
} from '@atoll/contract/files';
import { SandboxParams } from '@atoll/contract/sandboxes';
import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { clientGone } from '../abort.ts';
import type { Services } from '../services.ts';
import { base64Json } from '../base64-json.ts';
import { GUEST_ERRORS, NoContent } from '../schemas.ts';

const tags = ['files'];
const params = SandboxParams;
const nothing = { 204: NoContent, ...GUEST_ERRORS };

/** One JSON call a file operation. Those that answer nothing are listed once, with what each asks of the guest's agent. */
export function fileRoutes({ guests }: Services): FastifyPluginCallbackZod {
  return (app, _options, done) => {
    /** A file operation that answers 204. */
    function operation<Body extends z.ZodType>(
      name: string,
      summary: string,
      body: Body,
      act: (agent: Agent, request: z.output<Body>, signal: AbortSignal) => Promise<void>,
    ): void {
      app.post(
        `/sandboxes/:id/${name}`,
        { schema: { tags, summary, params, body, response: nothing } },
        async (request, reply) => {
          const signal = clientGone(reply);
          await guests.reach(request.params.id, (agent) =>
            act(agent, request.body as z.output<Body>, signal),
          );
          return reply.status(204).send(null);
        },
      );
    }

    operation('write-file', 'Create a file or replace its content', WriteFileRequest, (agent, body, signal) =>
      agent.writeFile(body.path, body.content_base64, signal),
    );
    operation('chmod', 'Set permission bits', ChmodRequest, (agent, body, signal) =>
      agent.chmod(body.path, body.mode, signal),
    );
    operation('chown', 'Set owner and group', ChownRequest, (agent, body, signal) =>
      agent.chown(body.path, body.uid, body.gid, signal),
    );
    operation('mkdir', 'Make a directory', MkdirRequest, (agent, body, signal) =>
      agent.mkdir(body.path, body.parents ?? false, signal),
    );
    operation('rename', 'Rename or move', FromToRequest, (agent, body, signal) =>
      agent.rename(body.from, body.to, signal),
    );
    operation('copy', 'Copy a file or a whole directory', FromToRequest, (agent, body, signal) =>
      agent.copy(body.from, body.to, signal),
    );
    operation('symlink', 'Make a symbolic link', SymlinkRequest, (agent, body, signal) =>
      agent.symlink(body.target, body.link_path, signal),
    );
    operation('truncate', 'Set the size of a file', TruncateRequest, (agent, body, signal) =>
      agent.truncate(body.path, body.size, signal),
    );

    app.post(
      '/sandboxes/:id/read-file',
      {
        schema: {
          tags,
          summary: 'Read a file',
          params,
          body: PathRequest,
          response: { 200: ReadFileResult, ...GUEST_ERRORS },
        },
      },
      async (request, reply) => {
        const signal = clientGone(reply);
        const { body } = await guests.open(request.params.id, (agent) =>
          agent.readFile(request.body.path, signal),
        );
        // Streamed: the file may be larger than the daemon's memory.
        void reply.type('application/json; charset=utf-8');
        return reply.send(base64Json('content_base64', body) as never);
      },
    );
    app.post(
      '/sandboxes/:id/readlink',
      {
        schema: {
          tags,
          summary: "Read a link's target",
          params,
          body: PathRequest,
          response: { 200: ReadlinkResult, ...GUEST_ERRORS },
        },
      },
      async (request, reply) => {
        const signal = clientGone(reply);
        return {
          target: await guests.reach(request.params.id, (agent) => agent.readlink(request.body.path, signal)),
        };
      },
    );
    app.post(
      '/sandboxes/:id/list-dir',
      {
        schema: {
          tags,
          summary: 'List a directory',
          params,
          body: PathRequest,
          response: { 200: ListDirResult, ...GUEST_ERRORS },
        },
      },
      async (request, reply) => {
        const signal = clientGone(reply);
        const entries = await guests.reach(request.params.id, (agent) =>
          agent.listDir(request.body.path, signal),
        );
        return { entries: [...entries] };
      },
    );
    done();
  };
}

type Agent = Parameters<Parameters<Services['guests']['reach']>[1]>[0];

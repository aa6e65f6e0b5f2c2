import type { FastifyReply } from 'fastify';

/** Aborts when the client goes away before it has its answer: work for nobody is undone. */
export function clientGone({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort(new Error('the client went away'));
  });
  return controller.signal;
}

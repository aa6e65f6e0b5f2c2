import type { FastifyReply } from 'fastify';

/** Aborts when the client goes away before it has its answer, or with another signal: work for nobody is undone. */
export function clientGone({ raw }: FastifyReply, other?: AbortSignal): AbortSignal {
  const controller = new AbortController();
  // Cheaper than a signal that depends on two, which the runtime keeps track of.
  other?.addEventListener('abort', () => controller.abort(other.reason), { once: true });
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort(new Error('the client went away'));
  });
  return controller.signal;
}

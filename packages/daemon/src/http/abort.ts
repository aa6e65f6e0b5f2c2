import type { FastifyReply } from 'fastify';

/** Why work was given up: nobody waits for its answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
  constructor() {
    super('the client went away');
  }
}

/** Aborts when the client goes away before it has its answer: work for nobody is undone. */
export function clientGone({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort(new ClientGone());
  });
  return controller.signal;
}

import type { FastifyInstance } from 'fastify';
import FindMyWay from 'find-my-way';
import type { HTTPMethod } from 'find-my-way';
import { AtollError } from '../lib/errors.ts';

/** Tells an unknown route (404) from a known one asked with another method (405, with `Allow`). Comes before the routes. */
export function answerUnknownRoutes(app: FastifyInstance): void {
  const known = FindMyWay({ ignoreTrailingSlash: true });
  const methods = new Set<HTTPMethod>();
  app.addHook('onRoute', ({ method, url }) => {
    for (const each of [method].flat() as HTTPMethod[]) {
      methods.add(each);
      if (known.findRoute(each, url) === null) known.on(each, url, () => undefined);
    }
  });
  app.setNotFoundHandler((request, reply) => {
    const { method } = request;
    const path = request.url.split('?', 1)[0] ?? '';
    const allow = [...methods].filter((each) => known.find(each, path) !== null).join(', ');
    if (allow === '') throw AtollError.of('ROUTE_NOT_FOUND', { method, path });
    void reply.header('allow', allow);
    throw AtollError.of('METHOD_NOT_ALLOWED', { method, path, allow });
  });
}

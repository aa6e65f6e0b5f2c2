import type { FastifyPluginCallbackZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import type { Services } from '../services.ts';

/** Health, metrics and the description of the interface itself. */
export function operationalRoutes({ renderMetrics }: Services): FastifyPluginCallbackZod {
  return (app, _options, done) => {
    app.get(
      '/healthz',
      {
        schema: {
          tags: ['operational'],
          summary: 'Is the daemon up?',
          security: [],
          produces: ['text/plain'],
          response: { 200: z.string() },
        },
      },
      (_request, reply) => {
        void reply.type('text/plain');
        return 'ok';
      },
    );
    app.get(
      '/metrics',
      {
        schema: {
          tags: ['operational'],
          summary: "Metrics in Prometheus' text format",
          security: [],
          produces: ['text/plain'],
          response: { 200: z.string() },
        },
      },
      (_request, reply) => {
        void reply.type('text/plain; version=0.0.4; charset=utf-8');
        return renderMetrics();
      },
    );
    app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger());
    done();
  };
}

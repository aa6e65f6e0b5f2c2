import type { FastifyInstance } from 'fastify';
import { AtollError } from '../lib/errors.ts';

/**
 * Reads every body as JSON, whatever its content type says: curl's -d announces a form. Nothing is lost by it: pages of other
 * sites are kept out by auth.ts. An empty body is an absent one.
 */
export function parseBodies(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>('*', { parseAs: 'string' }, (request, text, done) => {
    if (text === '') {
      done(null, undefined);
      return;
    }
    // The parser of fastify's own choice, which refuses a __proto__ key, answers by callback only.
    void parseJson(request, text, (error, value) => {
      if (error === null && value !== null) done(null, value);
      else if (error === null)
        done(AtollError.of('INVALID_REQUEST', { field: 'body', problem: 'takes an object' }));
      else
        done(AtollError.of('INVALID_REQUEST', { field: 'body', problem: `takes JSON (${error.message})` }));
    });
  });
}

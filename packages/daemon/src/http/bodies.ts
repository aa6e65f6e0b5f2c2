import type { FastifyInstance } from 'fastify';
import { AtollError } from '../lib/errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether its route reads the body itself, as it comes. */
    streamsBody: boolean;
  }
}

/**
 * Reads every body as JSON, whatever its content type says: curl's -d announces a form. Nothing is lost by it: pages of other
 * sites are kept out by auth.ts. An empty body is an absent one.
 */
export function parseBodies(app: FastifyInstance): void {
  app.decorateRequest('streamsBody', false);
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>('*', { parseAs: 'string' }, (request, text, done) => {
    if (text === '') {
      done(null, undefined);
      return;
    }
    // The parser of fastify's own choice answers by callback only.
    void parseJson(request, text, (error, value) => {
      if (error === null && value !== null) done(null, value);
      else
        done(
          AtollError.of('INVALID_REQUEST', {
            field: 'body',
            problem: error === null ? 'takes an object' : faultOf(text),
          }),
        );
    });
  });
}

/** Hands the routes of a plugin their bodies as streams, of any size. */
export function streamBodies(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    request.streamsBody = true;
    done();
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, payload, parsed) => parsed(null, payload));
}

/** Why a body was refused: it is no JSON, or it has a key by which a careless program is made to change its own prototypes. */
function faultOf(text: string): string {
  try {
    JSON.parse(text);
    return 'takes an object without the keys __proto__ and constructor.prototype';
  } catch (error) {
    return `takes JSON (${(error as Error).message})`;
  }
}

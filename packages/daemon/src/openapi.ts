import { readFile, writeFile } from 'node:fs/promises';
import { format } from 'prettier';
import { buildApp } from './http/app.ts';
import type { Services } from './http/services.ts';
import { createLogger } from './lib/logger.ts';
import { RequestScope } from './lib/request-context.ts';
import { VERSION } from './version.ts';

const COMMITTED = new URL('../../../spec/openapi.json', import.meta.url);

/** The OpenAPI document as the routes' own schemas give it. No handler runs, so nothing is behind the routes. */
async function generate(): Promise<string> {
  const scope = new RequestScope();
  const log = createLogger('json', 'silent', scope);
  const options = {
    authToken: undefined,
    maxBodyBytes: 64 * 1024 * 1024,
    maxConnections: 1,
    maxConcurrentRequests: 1,
    requestTimeoutMs: 1000,
    previewTimeoutMs: 30_000,
    log,
    scope,
    version: VERSION,
  };
  const app = await buildApp({} as Services, options);
  await app.ready();
  const document = app.swagger();
  await app.close();
  return format(JSON.stringify(document), { parser: 'json', printWidth: 110 });
}

const generated = await generate();
if (process.argv.includes('--write')) {
  await writeFile(COMMITTED, generated);
} else if ((await readFile(COMMITTED, 'utf8').catch(() => '')) !== generated) {
  process.stderr.write(
    'spec/openapi.json differs from the routes: run `npm run openapi` and commit the result\n',
  );
  process.exitCode = 1;
}

/** Writes docs/reference.md from spec/openapi.json and the contract's errors, or with `--check` compares. */
import { readFile, writeFile } from 'node:fs/promises';
import { format } from 'prettier';
import { errorCodes } from './error-codes.ts';
import { routes } from './routes.ts';
import { shapes } from './shapes.ts';
import type { Document } from './document.ts';

const SPEC = new URL('../../spec/openapi.json', import.meta.url);
const COMMITTED = new URL('../reference.md', import.meta.url);

const HEAD = `<!-- Written by \`npm run reference\` from spec/openapi.json and the contract: edits are lost. -->

# Reference

Every route, what it takes and answers, and every error code. The daemon has the same at \`/docs\`, and as a document at \`/openapi.json\`. Its
settings are in [settings](settings.md); the [guides](getting-started.md#next) show how the routes are used.

Bodies are JSON, unless a route says otherwise. \`null\` in a field that may be left out is the same as leaving it out. Where the daemon has a token,
every route but \`/healthz\` and \`/metrics\` needs \`Authorization: Bearer <token>\`; previews and WebSocket routes take it as the query
parameter \`token\` too. Every answer carries \`x-request-id\`. An answer of 400 and above is an [error](#error-codes).
`;

const document = JSON.parse(await readFile(SPEC, 'utf8')) as Document;
const parts = [HEAD, ...routes(document), ...shapes(document), ...errorCodes()];
const generated = await format(parts.join('\n'), { parser: 'markdown' });
if (process.argv.includes('--write')) {
  await writeFile(COMMITTED, generated);
} else if ((await readFile(COMMITTED, 'utf8').catch(() => '')) !== generated) {
  process.stderr.write(
    'docs/reference.md differs from the contract: run `npm run reference` and commit the result\n',
  );
  process.exitCode = 1;
}

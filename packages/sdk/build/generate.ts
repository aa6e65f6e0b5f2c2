/**
 * Writes src/generated/api.ts from spec/openapi.json, or with `--check` compares: the types of every body and answer, the closed
 * set of error codes, and which of those are retryable.
 */
import { readFile, writeFile } from 'node:fs/promises';
import openapiTS, { astToString } from 'openapi-typescript';
import type { OpenAPI3 } from 'openapi-typescript';
import { format, resolveConfig } from 'prettier';

const SPEC = new URL('../../../spec/openapi.json', import.meta.url);
const COMMITTED = new URL('../src/generated/api.ts', import.meta.url);
const NOTE = '// Written by `npm run generate` from spec/openapi.json: what the daemon takes and answers.\n';

/** The parts of the document that matter here. */
interface Document {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, unknown> };
}

interface Operation {
  readonly parameters?: unknown;
  readonly requestBody?: unknown;
  readonly responses: Record<string, unknown>;
}

interface ErrorSchema {
  readonly properties: {
    readonly code: { readonly 'x-status': Record<string, number>; readonly 'x-retryable': string[] };
  };
}

const REFERENCE = /"#\/components\/schemas\/(\w+)"/g;

/** Names of the schemas that a part of the document stands on. */
function reachable(part: unknown, schemas: Record<string, unknown>, found = new Set<string>()): Set<string> {
  for (const [, name = ''] of JSON.stringify(part).matchAll(REFERENCE)) {
    if (found.has(name)) continue;
    found.add(name);
    reachable(schemas[name], schemas, found);
  }
  return found;
}

/** Each operation without its refusals, which have one shape. */
function withoutRefusals(paths: Document['paths']): Document['paths'] {
  const succeeds = ([status]: [string, unknown]) => Number(status) < 400;
  const trim = ({ parameters, requestBody, responses }: Operation): Operation => ({
    ...(parameters === undefined ? {} : { parameters }),
    ...(requestBody === undefined ? {} : { requestBody }),
    responses: Object.fromEntries(Object.entries(responses).filter(succeeds)),
  });
  return Object.fromEntries(
    Object.entries(paths).map(([path, operations]) => [
      path,
      Object.fromEntries(Object.entries(operations).map(([method, operation]) => [method, trim(operation)])),
    ]),
  );
}

/** The document with one schema for each name: what is sent is `<name>Input` in it, and both forms are there of each. */
function trimmed({ components: { schemas }, ...document }: Document): OpenAPI3 {
  const paths = withoutRefusals(document.paths);
  const names = reachable(paths, schemas).add('Error');
  const outputName = (name: string) => {
    const plain = name.replace(/Input$/, '');
    if (plain !== name && names.has(plain)) throw new Error(`${plain} is sent and answered in two shapes`);
    return plain;
  };
  const kept = Object.fromEntries([...names].toSorted().map((name) => [outputName(name), schemas[name]]));
  const text = JSON.stringify({ ...document, paths, components: { schemas: kept } });
  return JSON.parse(
    text.replaceAll(REFERENCE, (_, name: string) => `"#/components/schemas/${outputName(name)}"`),
  ) as OpenAPI3;
}

async function generate(): Promise<string> {
  const document = JSON.parse(await readFile(SPEC, 'utf8')) as Document;
  const ast = await openapiTS(trimmed(document), { rootTypes: true, rootTypesNoSchemaPrefix: true });
  const { code } = (document.components.schemas['Error'] as ErrorSchema).properties;
  const others = Object.entries(code['x-status']).filter(([, status]) => status !== 400);
  const codes = `/** Statuses by code; a code that is not here has 400. */
    export const STATUS_OF: Readonly<Record<string, number>> = ${JSON.stringify(Object.fromEntries(others))};
    /** Codes of failures after which the same call may succeed. */
    export const RETRYABLE_CODES: readonly string[] = ${JSON.stringify(code['x-retryable'])};`;
  const options = await resolveConfig(COMMITTED);
  return format(`${NOTE}\n${astToString(ast)}\n${codes}\n`, { ...options, parser: 'typescript' });
}

const generated = await generate();
if (process.argv.includes('--write')) {
  await writeFile(COMMITTED, generated);
} else if ((await readFile(COMMITTED, 'utf8').catch(() => '')) !== generated) {
  process.stderr.write(
    'packages/sdk/src/generated/api.ts differs from spec/openapi.json: run `npm run openapi`\n',
  );
  process.exitCode = 1;
}

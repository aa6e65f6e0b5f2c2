import { jsonSchemaTransform } from 'fastify-type-provider-zod';

type Transform = typeof jsonSchemaTransform;

const JSON_TYPE = 'application/json';
const ANY_TYPE = '*/*';

/**
 * A route as the OpenAPI document has it. A query whose keys the caller chooses has no form there: the one such query,
 * `tag.<key>=<value>`, is one optional parameter of that name.
 */
export const describeRoute: Transform = (route) => {
  const described = withMediaTypes(jsonSchemaTransform(route));
  const { querystring } = described.schema as { querystring?: Record<string, unknown> };
  if (querystring?.['additionalProperties'] === undefined || querystring['properties'] !== undefined)
    return described;
  const parameter = { type: 'string', description: 'Any number of these, of any key: all must match.' };
  const open = { type: 'object', properties: { 'tag.<key>': parameter } };
  return { ...described, schema: { ...described.schema, querystring: open } };
};

/**
 * What a route produces besides JSON is what it answers when all is well: every error is JSON. One that produces anything passes on the
 * errors of another server as well.
 */
function withMediaTypes(described: ReturnType<Transform>): ReturnType<Transform> {
  const { produces, response, ...rest } = described.schema as {
    produces?: string[];
    response?: Record<string, { description?: string }>;
  };
  if (produces === undefined || response === undefined) return described;
  const answers = Object.entries(response).map(([status, schema]) => {
    const { description = 'Default Response' } = schema;
    const own = Object.fromEntries(produces.map((type) => [type, { schema }]));
    const passedOn = produces.includes(ANY_TYPE) ? { [ANY_TYPE]: { schema: {} } } : {};
    const content = isFailure(status) ? { [JSON_TYPE]: { schema }, ...passedOn } : own;
    return [status, { description, content }] as const;
  });
  return { ...described, schema: { ...rest, response: Object.fromEntries(answers) } };
}

function isFailure(status: string): boolean {
  return /^[45]/.test(status);
}

import { prose, table } from './document.ts';
import type { Document, Schema } from './document.ts';

// Both forms of a schema, as sent and as answered, have one name here. What is sent says more: what may be left out.
const REFERENCE = /^#\/components\/schemas\/(\w+?)(?:Input)?$/;

/** A schema's type, as a reader of a table wants it. */
export function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return linkTo(REFERENCE.exec(schema.$ref)?.[1] ?? schema.$ref);
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(code).join(' or ');
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' or ');
  if (Array.isArray(schema.type))
    return (schema.type as string[]).map((type) => typeOf({ ...schema, type })).join(' or ');
  if (schema.items !== undefined) return `list of ${typeOf(schema.items)}${most(schema.maxItems)}`;
  if (schema.properties !== undefined) return fieldsInline(schema);
  if (typeof schema.additionalProperties === 'object')
    return `object of ${typeOf(schema.additionalProperties)}s`;
  if (schema.type === 'integer' || schema.type === 'number') return `integer${range(schema)}`;
  if (schema.format === 'uuid') return 'UUID';
  return (schema.type as string | undefined) ?? 'anything';
}

/** A section for each schema that routes refer to. */
export function shapes({ components: { schemas } }: Document): string[] {
  const named = Object.keys(schemas).filter((name) => name !== 'Error' && !isForm(name, schemas));
  const sections = named.toSorted().map((name) => {
    const schema = schemas[`${name}Input`] ?? schemas[name] ?? {};
    return `### ${name}\n\n${schema.properties === undefined ? `${typeOf(schema)}\n` : fields(schema)}`;
  });
  return [
    '## Shapes\n\nA field that is marked as optional may be left out of a body, or be missing from an answer.\n',
    ...sections,
  ];
}

function isForm(name: string, schemas: Readonly<Record<string, Schema>>): boolean {
  return name.endsWith('Input') && name.slice(0, -'Input'.length) in schemas;
}

function fields({ properties = {}, required = [] }: Schema): string {
  const rows = Object.entries(properties).map(([name, schema]) => [
    `\`${name}\``,
    `${withoutNull(schema, required.includes(name))}${required.includes(name) ? '' : ', optional'}`,
    prose(schema.description ?? ''),
  ]);
  return table(['Field', 'Type', 'Meaning'], rows);
}

/** Where a field may be left out, that it may be null says nothing more. */
function withoutNull(schema: Schema, isRequired: boolean): string {
  const type = typeOf(schema);
  return isRequired ? type : type.replace(/ or null$/, '');
}

function fieldsInline({ properties = {} }: Schema): string {
  return `{ ${Object.entries(properties)
    .map(([name, schema]) => `\`${name}\`: ${typeOf(schema)}`)
    .join(', ')} }`;
}

function linkTo(name: string): string {
  return name === 'Error' ? '[Error](#error-codes)' : `[${name}](#${name.toLowerCase()})`;
}

function code(value: unknown): string {
  return `\`${JSON.stringify(value)}\``;
}

function most(count: number | undefined): string {
  return count === undefined ? '' : `, ${count} at most`;
}

/** The bounds of a number, but for those of every number. */
function range({ minimum, exclusiveMinimum, maximum }: Schema): string {
  const least = exclusiveMinimum === undefined ? minimum : exclusiveMinimum + 1;
  const hasLeast = least !== undefined && least > Number.MIN_SAFE_INTEGER;
  const hasMost = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER;
  if (hasLeast && hasMost) return ` from ${least} to ${maximum}`;
  if (hasMost) return ` up to ${maximum}`;
  return hasLeast ? ` from ${least}` : '';
}

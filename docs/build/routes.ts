import { prose, table } from './document.ts';
import type { Answer, Document, Operation } from './document.ts';
import { typeOf } from './shapes.ts';

const PARAMETERS = ['Parameter', 'In', 'Type', 'Meaning'] as const;

/** A section for each kind of thing, with its routes. */
export function routes({ paths }: Document): string[] {
  const all = Object.entries(paths).flatMap(([path, operations]) => merged(path, Object.entries(operations)));
  const byTag = Map.groupBy(all, ({ operation }) => operation.tags[0] ?? 'other');
  return [...byTag].map(([tag, group]) => `## ${title(tag)}\n\n${group.map(section).join('\n')}`);
}

interface Route {
  readonly methods: readonly string[];
  readonly path: string;
  readonly operation: Operation;
}

/** The methods of a path that do the same are one route. */
function merged(path: string, operations: readonly (readonly [string, Operation])[]): Route[] {
  const byShape = Map.groupBy(operations, ([, operation]) => JSON.stringify(operation));
  return [...byShape.values()].flatMap((group) => {
    const operation = group[0]?.[1];
    return operation === undefined
      ? []
      : [{ methods: group.map(([method]) => method.toUpperCase()), path, operation }];
  });
}

function section({ methods, path, operation }: Route): string {
  const { summary, description, parameters = [], requestBody, responses } = operation;
  const rows = parameters.map((each) => [
    `\`${each.name}\``,
    each.in + (each.required ? '' : ', optional'),
    typeOf(each.schema) +
      (each.schema.default === undefined ? '' : `, else \`${JSON.stringify(each.schema.default)}\``),
    prose(each.description ?? ''),
  ]);
  const body = requestBody?.content['application/json']?.schema;
  const lines = [
    `### ${methods.join(', ')} ${path.replaceAll('{*}', '*').replaceAll(/\{(\w+)\}/g, ':$1')}\n`,
    prose(`${summary.replace(/(?<![?.])$/, '.')}${description === undefined ? '' : ` ${description}`}\n`),
    table(PARAMETERS, rows),
    body === undefined ? '' : `Body: ${typeOf(body)}\n`,
    answers(responses),
  ];
  return lines.filter(Boolean).join('\n');
}

function answers(responses: Operation['responses']): string {
  const entries = Object.entries(responses);
  const good = entries.filter(([status]) => Number(status) < 400).map(([status, each]) => told(status, each));
  const bad = entries.filter(([status]) => Number(status) >= 400).map(([status]) => status);
  return `Answers: ${good.join(', or ')}.${bad.length === 0 ? '' : ` Errors: ${bad.join(', ')}.`}\n`;
}

function told(status: string, { description, content = {} }: Answer): string {
  const [kind, media] = Object.entries(content)[0] ?? [];
  const own =
    description === 'Default Response'
      ? ''
      : ` ${lowerFirst(description.replace(/\.$/, '').replaceAll(';', ','))}`;
  if (own !== '' || media === undefined) return `${status}${own}`;
  return kind === 'application/json' ? `${status} ${typeOf(media.schema)}` : `${status} \`${kind}\``;
}

function title(tag: string): string {
  return tag.charAt(0).toUpperCase() + tag.slice(1);
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

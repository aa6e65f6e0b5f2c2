import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import { AtollError } from '../lib/errors.ts';

/** Parses bodies, queries and parameters by their zod schemas; what does not fit is INVALID_REQUEST, naming the field. */
export function validateRequests(app: FastifyInstance): void {
  app.setValidatorCompiler(({ schema, httpPart }) => (data: unknown) => {
    // The schemas would pass over this key without a word.
    if (typeof data === 'object' && data !== null && Object.hasOwn(data, '__proto__')) {
      return {
        error: AtollError.of('INVALID_REQUEST', {
          field: '__proto__',
          problem: 'is not a field of this request',
        }),
      };
    }
    // An absent body equals {}; where a field is required the schema says so.
    const parsed = (schema as z.ZodType).safeParse(httpPart === 'body' ? (data ?? {}) : data);
    if (parsed.success) return { value: parsed.data };
    const [issue] = parsed.error.issues;
    return { error: AtollError.of('INVALID_REQUEST', describe(issue, httpPart ?? 'request')) };
  });
}

function describe(issue: z.core.$ZodIssue | undefined, part: string): { field: string; problem: string } {
  if (issue === undefined) return { field: part, problem: 'malformed' };
  const field = issue.path.length === 0 ? part : issue.path.map(String).join('.');
  switch (issue.code) {
    case 'unrecognized_keys': {
      const [key = ''] = issue.keys;
      return {
        field: issue.path.length === 0 ? key : `${field}.${key}`,
        problem: 'is not a field of this request',
      };
    }
    case 'invalid_type': {
      const missing = issue.input === undefined && issue.message.includes('undefined');
      return {
        field,
        problem: missing
          ? `is required; takes ${article(issue.expected)}`
          : `takes ${article(issue.expected)}`,
      };
    }
    case 'too_small':
      return {
        field,
        problem:
          own(issue.message) ??
          `takes ${issue.inclusive === true ? 'at least' : 'more than'} ${issue.minimum}`,
      };
    case 'too_big':
      return {
        field,
        problem:
          own(issue.message) ??
          `takes ${issue.inclusive === true ? 'at most' : 'less than'} ${issue.maximum}`,
      };
    case 'invalid_key':
      return describe(issue.issues[0], field);
    default:
      return { field, problem: issue.message };
  }
}

/** A message that the schema gives itself; those of the library speak of inputs and sizes. */
function own(message: string): string | undefined {
  return message.startsWith('takes') ? message : undefined;
}

function article(type: string): string {
  const name = type === 'int' ? 'integer' : type === 'record' ? 'object' : type;
  return `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`;
}

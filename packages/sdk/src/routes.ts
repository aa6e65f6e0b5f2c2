import type { paths } from './generated/api.ts';

export type Method = 'get' | 'post' | 'put' | 'delete' | 'patch';

/** Paths of the OpenAPI document that take a method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P][M] extends { responses: unknown } ? P : never;
}[keyof paths];

type Params<O> = O extends { parameters: { path: infer X extends object } } ? { readonly params: X } : object;

type Query<O> = O extends { parameters: { query: infer Q extends object } }
  ? { readonly query: Q }
  : O extends { parameters: { query?: infer Q extends object } }
    ? { readonly query?: Q }
    : object;

type Body<O> = O extends { requestBody: { content: { 'application/json': infer B } } }
  ? { readonly body: B }
  : object;

/** What a route asks for: `params` of its path, `query`, and `body`, each where it has one. */
export type RequestOf<M extends Method, P extends PathOf<M>> = Params<paths[P][M]> &
  Query<paths[P][M]> &
  Body<paths[P][M]>;

/** What a route answers; undefined where it answers nothing. */
export type AnswerOf<M extends Method, P extends PathOf<M>> = paths[P][M] extends {
  responses: infer R extends { 200: { content: { 'application/json': unknown } } };
}
  ? R[200]['content']['application/json'] | (204 extends keyof R ? undefined : never)
  : undefined;

/** Values of a query; undefined ones are left out. */
export type QueryValues = Readonly<Record<string, string | number | boolean | undefined>>;

/** A path with its `{parameters}` filled in, and a query. */
export function fill(template: string, params: object = {}, query: object = {}): string {
  const values = params as Readonly<Record<string, string | number>>;
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(values[name])),
  );
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query as QueryValues))
    if (value !== undefined) given.append(name, String(value));
  return given.size === 0 ? path : `${path}?${given.toString()}`;
}

import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Daemon } from '../harness/daemon.ts';
import { until } from '../harness/poll.ts';
import { tour } from './tour.ts';
import { importSdk } from './packed.ts';

const SPEC = new URL('../../spec/openapi.json', import.meta.url);
let daemon: Daemon;

// Without a token, as the other files are with one.
beforeAll(async () => {
  daemon = await Daemon.start();
});
afterAll(() => daemon[Symbol.asyncDispose]());

/** Notes every request that goes by fetch or WebSocket, as method and path. */
function recorder() {
  const seen: string[] = [];
  const note = (method: string, url: string) => seen.push(`${method} ${new URL(url).pathname}`);
  const recordingFetch: typeof fetch = (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    note((init?.method ?? 'GET').toUpperCase(), url);
    return fetch(input, init);
  };
  class RecordingSocket extends WebSocket {
    constructor(url: string, protocols?: string[]) {
      super(url, protocols);
      note('GET', url);
    }
  }
  return { seen, fetch: recordingFetch, WebSocket: RecordingSocket };
}

/** Counts calls of what a class offers: its own methods, its getters, and those of its instances. */
function watch(offered: Record<string, unknown>) {
  const uncalled = new Set<string>();
  const wrapAll = (name: string, target: object, kept: readonly string[]) => {
    for (const [key, property] of Object.entries(Object.getOwnPropertyDescriptors(target))) {
      if (kept.includes(key)) continue;
      const label = `${name}.${key}`;
      const count = (call: unknown) =>
        typeof call !== 'function'
          ? call
          : function (this: unknown, ...args: unknown[]): unknown {
              uncalled.delete(label);
              return Reflect.apply(call as () => unknown, this, args);
            };
      const isMethod = typeof property.value === 'function';
      if (!isMethod && property.get === undefined) continue;
      uncalled.add(label);
      if (isMethod) Object.defineProperty(target, key, { ...property, value: count(property.value) });
      else Object.defineProperty(target, key, { ...property, get: count(property.get) as () => unknown });
    }
  };
  const isClass = (value: unknown): value is { prototype: object } =>
    typeof value === 'function' && value.prototype !== undefined;
  for (const [name, value] of Object.entries(offered)) {
    if (!isClass(value) || value.prototype instanceof Error) continue;
    wrapAll(name, value, ['prototype', 'name', 'length']);
    wrapAll(`${name}#`, value.prototype, ['constructor']);
  }
  return {
    uncalled,
    /** Of an object whose class is not exported. */
    also: (name: string, object: object) =>
      wrapAll(`${name}#`, Object.getPrototypeOf(object) as object, ['constructor']),
  };
}

interface Document {
  readonly paths: Record<string, Record<string, unknown>>;
}

/** The routes of the document that none of the requests reached. */
function missing({ paths }: Document, seen: readonly string[]): string[] {
  const pattern = (path: string) =>
    new RegExp(
      `^${path
        .replaceAll(/[.]/g, '\\.')
        .replaceAll('{*}', '.*')
        .replaceAll(/\{\w+\}/g, '[^/]+')}$`,
    );
  const routes = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => ({ method: method.toUpperCase(), path, isOf: pattern(path) })),
  );
  // A path without parameters is a route of its own, not a value of one with them: /sandboxes/history is no /sandboxes/{id}.
  const isPlain = (path: string) => Object.hasOwn(paths, path);
  const isReached = ({ method, path, isOf }: (typeof routes)[number]) =>
    seen.some((each) => {
      const [used = '', at = ''] = each.split(' ');
      return used === method && (isPlain(at) ? at === path : isOf.test(at));
    });
  return routes.filter((route) => !isReached(route)).map(({ method, path }) => `${method} ${path}`);
}

it('every route of the openapi document is reached', { timeout: 300_000 }, async () => {
  const sdk = await importSdk();
  const watched = watch(sdk);
  const { seen, ...how } = recorder();
  await tour(sdk, { url: daemon.url, token: '', ...how }, watched.also);
  await until(
    'nothing lives',
    async () => (await sdk.Sandbox.list({ url: daemon.url })).length === 0,
    30_000,
  );
  const document = JSON.parse(await readFile(SPEC, 'utf8')) as Document;
  expect(missing(document, seen)).toEqual([]);
  expect([...watched.uncalled]).toEqual([]);
  // The test itself can fail.
  expect(missing(document, [])).toHaveLength(
    Object.values(document.paths).flatMap((operations) => Object.keys(operations)).length,
  );
});

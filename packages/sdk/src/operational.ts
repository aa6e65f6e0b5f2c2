import { Atoll } from './atoll.ts';
import type { ConnectOptions } from './atoll.ts';
import { UnexpectedAnswerError } from './errors.ts';

/** Resolves when the daemon is up. Takes no token. */
export async function health(options: ConnectOptions = {}): Promise<void> {
  const atoll = Atoll.of(options);
  const text = await readText(atoll, '/healthz', options);
  if (text !== 'ok') throw new UnexpectedAnswerError(atoll.url, 'GET /healthz', 200);
}

/** The daemon's metrics, in Prometheus' text format. Takes no token. */
export async function metrics(options: ConnectOptions = {}): Promise<string> {
  return readText(Atoll.of(options), '/metrics', options);
}

/** The OpenAPI document of the daemon. */
export async function openapi(options: ConnectOptions = {}): Promise<object> {
  return JSON.parse(await readText(Atoll.of(options), '/openapi.json', options)) as object;
}

const TIMEOUT_MS = 30_000;

async function readText(atoll: Atoll, path: string, options: ConnectOptions): Promise<string> {
  const { timeoutMs = TIMEOUT_MS, signal } = options;
  return (await atoll.open('GET', path, { timeoutMs, signal })).text();
}

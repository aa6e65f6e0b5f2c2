import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { AgentSession } from '../ports/agent.ts';
import type { Network } from '../ports/network.ts';
import { FakeMetrics } from '../testing/fake-metrics.ts';
import { Activity } from './activity.ts';
import type { Guests } from './guests.ts';
import { Previews } from './previews.ts';
import { Ptys } from './ptys.ts';
import type { LiveSandbox } from './registry.ts';
import { Streams } from './streams.ts';

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });
}

/** A network on which no packet passes. */
const deafNetwork = {
  connect: (_lease, _port, signal) => untilAborted(signal),
} as Pick<Network, 'connect'> as Network;

/** A guest whose agent takes every call and answers none, until it is told to stop. */
function deafGuests(): Guests {
  const agent: Pick<AgentSession, 'connect' | 'terminal'> = {
    connect: (_port, signal) => untilAborted(signal),
    terminal: (_size, signal) => untilAborted(signal),
  };
  const guests: Pick<Guests, 'idOf' | 'reach'> = {
    idOf: (id) => id,
    reach: (id, action) => action(agent as AgentSession, { sandbox: { id }, running: {} } as LiveSandbox),
  };
  return guests as Guests;
}

const codeOf = (code: string) => expect.objectContaining({ code }) as Error;

let metrics: FakeMetrics;
let streams: Streams;
beforeEach(() => {
  vi.useFakeTimers();
  metrics = new FakeMetrics();
  streams = new Streams(metrics, new Activity());
});
afterEach(() => vi.useRealTimers());

test('a guest that does not connect a preview is given up in time', async () => {
  const { signal } = new AbortController();
  const waiting = new Previews(deafGuests(), streams, deafNetwork).connect('a', 80, 5000, signal);
  const refused = expect(waiting).rejects.toThrow(codeOf('PREVIEW_TIMEOUT'));
  await vi.advanceTimersByTimeAsync(5000);
  await refused;
});

test('a caller that leaves while a preview is connected is not told of a timeout', async () => {
  const client = new AbortController();
  const waiting = new Previews(deafGuests(), streams, deafNetwork).connect('a', 80, 5000, client.signal);
  const refused = expect(waiting).rejects.toThrow('gone');
  client.abort(new Error('gone'));
  await refused;
});

test('a guest that starts no shell is given up in time, and nothing stays open', async () => {
  const waiting = new Ptys(deafGuests(), streams).open('a', { cols: 80, rows: 24 });
  const refused = expect(waiting).rejects.toThrow(codeOf('SANDBOX_UNREACHABLE'));
  await vi.advanceTimersByTimeAsync(30_000);
  await refused;
  expect(metrics.streams.get('pty')).toBe(0);
});

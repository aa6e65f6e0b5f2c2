import { shutDown } from './shutdown.ts';
import type { Endable, ShutdownOutcome } from './shutdown.ts';

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Runs a daemon until this process gets SIGTERM or SIGINT, and answers how the shutdown came out. The signals are heard from before the
 * start: one that comes during it aborts `start`, which undoes what it has done. Rejects when the start fails by itself, or cannot be undone.
 */
export async function serve(start: (ending: AbortSignal) => Promise<Endable>): Promise<ShutdownOutcome> {
  const ending = new AbortController();
  const asked = Promise.withResolvers<undefined>();
  for (const signal of SIGNALS)
    process.on(signal, () => {
      ending.abort(new Error(signal));
      asked.resolve(undefined);
    });
  let daemon: Endable;
  try {
    daemon = await start(ending.signal);
  } catch (error) {
    if (ending.signal.aborted && !(error instanceof SuppressedError)) return 'stopped';
    throw error;
  }
  await asked.promise;
  return shutDown(daemon);
}

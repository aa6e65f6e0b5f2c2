import type { Logger } from 'pino';
import { SETTLE_MS } from './domain/drive-settling.ts';
import type { Sandbox } from './domain/sandbox.ts';
import { reasonOf } from './lib/errors.ts';

// Ending 64 machines takes well under a second; what takes longer hangs.
const ENDING_MS = 20_000;

/** How long a shutdown may take: guests write out their drives, which has a limit of its own, and then machines are ended. */
export const SHUTDOWN_MS = SETTLE_MS + ENDING_MS;

/** A daemon that can be ended. */
export interface Endable {
  readonly log: Logger;
  readonly stop: AsyncDisposable;
  /** The sandboxes of which something is left. */
  readonly present: () => readonly Pick<Sandbox, 'id' | 'drives'>[];
}

/** How a shutdown came out; one that hangs still has something running. */
export type ShutdownOutcome = 'stopped' | 'left something' | 'hangs';

/**
 * Ends a daemon, and gives up after `limitMs`. What the log says then names the sandboxes that were not ended, and the drives to
 * which they may not have written all they held back. Never rejects.
 */
export async function shutDown(
  { log, stop, present }: Endable,
  limitMs: number = SHUTDOWN_MS,
): Promise<ShutdownOutcome> {
  const { promise: late, resolve } = Promise.withResolvers<ShutdownOutcome>();
  const timer = setTimeout(() => {
    const left = present();
    const unwritten = left.flatMap(({ drives }) => drives.filter(({ readOnly }) => !readOnly));
    log.error(
      {
        after_ms: limitMs,
        sandboxes: left.map(({ id }) => id),
        unwritten_drives: unwritten.map(({ id }) => id),
      },
      'the shutdown hangs: leaving the rest to the next start',
    );
    resolve('hangs');
  }, limitMs);
  const done = stop[Symbol.asyncDispose]().then(
    (): ShutdownOutcome => {
      log.info('stopped');
      return 'stopped';
    },
    (error: unknown): ShutdownOutcome => {
      log.error({ reason: reasonOf(error) }, 'the shutdown left something behind');
      return 'left something';
    },
  );
  const outcome = await Promise.race([done, late]);
  clearTimeout(timer);
  return outcome;
}

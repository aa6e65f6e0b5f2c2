import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { QmpClient } from './qmp.ts';

// A state without memory is written or read in 3 ms.
const POLL_MS = 1;

// Above what a unix socket carries: QEMU's own default, meant for networks, holds back the memory of a stopped machine too.
const MAX_BYTES_PER_SECOND = 64 * 1024 ** 3;

// As `query-migrate` answers (QEMU's qapi/migration.json).
const Progress = z.object({ status: z.string().optional(), 'error-desc': z.string().optional() });

/** Sets a migration up. Both ends have to agree on whether memory that is shared through a file is left out. */
export async function agreeOn(qmp: QmpClient, leaveOutMemory: boolean, signal: AbortSignal): Promise<void> {
  const capabilities = [{ capability: 'x-ignore-shared', state: leaveOutMemory }];
  await qmp.execute('migrate-set-capabilities', { capabilities }, signal);
  if (leaveOutMemory) return;
  await qmp.execute('migrate-set-parameters', { 'max-bandwidth': MAX_BYTES_PER_SECOND }, signal);
}

/** Waits until a migration is done, on either end. Rejects with QEMU's reason when it fails. */
export async function migrated(qmp: QmpClient, signal: AbortSignal): Promise<void> {
  for (;;) {
    const progress = Progress.parse(await qmp.execute('query-migrate', {}, signal));
    if (progress.status === 'completed') return;
    if (progress.status === 'failed' || progress.status === 'cancelled')
      throw new Error(
        `the transfer of its state ${progress.status}: ${progress['error-desc'] ?? 'no reason'}`,
      );
    await sleep(POLL_MS, undefined, { signal });
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Machine } from '../ports/vmm.ts';

// A machine's end is noticed when its process has been reaped, a moment after its sockets closed.
const NOTICE_MS = 200;

/** How a machine ended that has just stopped to answer; undefined when it goes on, as far as a moment's wait can tell. */
export function endOf({ exited }: Pick<Machine, 'exited'>): Promise<string | undefined> {
  return Promise.race([exited, sleep(NOTICE_MS, undefined)]);
}

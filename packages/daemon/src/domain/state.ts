/**
 * What a sandbox can be.
 * starting: its machine boots; snapshotting: its machine is being saved, and goes on when that fails; stopping: its machine is being ended and its files removed; lost: its machine ended by itself,
 * and the reason is kept for a while; gone: nothing of it is left.
 */
export type SandboxState = 'starting' | 'live' | 'snapshotting' | 'stopping' | 'lost' | 'gone';

/** Every legal step. What is not here is a fault of the daemon, and throws. */
const TRANSITIONS: Record<SandboxState, readonly SandboxState[]> = {
  starting: ['live', 'gone'],
  live: ['snapshotting', 'stopping', 'lost'],
  snapshotting: ['live', 'stopping'],
  stopping: ['gone'],
  lost: ['gone'],
  gone: [],
};

export function assertTransition(id: string, from: SandboxState, to: SandboxState): void {
  if (!TRANSITIONS[from].includes(to)) throw new Error(`sandbox ${id}: no step leads from ${from} to ${to}`);
}

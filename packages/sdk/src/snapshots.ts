import { apiError } from './errors.ts';

/** What every way to bring a snapshot up takes. */
export interface RestoreOptions {
  /** Gives the sandbox a network address, hostname and machine-id of its own. */
  readonly fresh_identity?: boolean | undefined;
}

export interface ResumeOptions extends RestoreOptions {
  /** false deletes the snapshot for good, in place of keeping it in the history. */
  readonly retain_history?: boolean | undefined;
}

/** What is given must match. */
export interface SnapshotFilter {
  readonly source_sandbox_id?: string | undefined;
  readonly parent_snapshot_id?: string | undefined;
}

type Flag = 'true' | 'false';

function flags<K extends string>(values: Readonly<Record<K, boolean | undefined>>): { [name in K]?: Flag } {
  const given = Object.entries<boolean | undefined>(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)])) as { [name in K]?: Flag };
}

export function restoreQuery({ fresh_identity }: RestoreOptions) {
  return flags({ fresh_identity });
}

export function resumeQuery({ fresh_identity, retain_history }: ResumeOptions) {
  return flags({ fresh_identity, retain_history });
}

/** The one with that id. Throws NotFoundError. */
export function findSnapshot<T extends { readonly id: string }>(id: string, snapshots: readonly T[]): T {
  const found = snapshots.find((each) => each.id === id);
  if (found !== undefined) return found;
  throw apiError({ error: `snapshot not found: ${id}`, code: 'NOT_FOUND' });
}

import type { DatabaseSync } from 'node:sqlite';

/**
 * Each step brings a database from its own number to the next; what has been released stays as it is. Rows are numbered in the
 * order in which sandboxes came to life, and the living, which are few, have an index of their own.
 */
const STEPS = [
  `CREATE TABLE sandboxes (
     number INTEGER PRIMARY KEY,
     id TEXT NOT NULL UNIQUE,
     name TEXT,
     tags TEXT NOT NULL,
     image_id TEXT,
     created_at_unix INTEGER NOT NULL,
     ended_at_unix INTEGER,
     end_reason TEXT,
     final_snapshot_id TEXT
   ) STRICT;
   CREATE INDEX live_sandboxes ON sandboxes (number) WHERE ended_at_unix IS NULL;`,
] as const;

/** Brings a database to the form that this release reads. Throws when a later release wrote it. */
export function migrate(database: DatabaseSync): void {
  const { user_version: version } = database.prepare('PRAGMA user_version').get() as { user_version: number };
  if (version > STEPS.length)
    throw new Error(
      `it has version ${version}, and this release knows ${STEPS.length}: a later release wrote it`,
    );
  for (const [done, step] of STEPS.entries()) {
    if (done < version) continue;
    database.exec(`BEGIN; ${step} PRAGMA user_version = ${done + 1}; COMMIT;`);
  }
}

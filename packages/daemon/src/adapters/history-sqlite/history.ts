import { extname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { StatementSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { z } from 'zod';
import { reasonOf } from '../../lib/errors.ts';
import type { Beginning, Ending, History, HistoryQuery, HistoryRecord } from '../../ports/history.ts';
import { migrate } from './schema.ts';

// Of some 100 bytes each: the log between two checkpoints stays below a megabyte.
const WRITES_BETWEEN_CHECKPOINTS = 2000;

// A program of its own, built or in the source as this one is.
const CHECKPOINT = new URL(`checkpoint${extname(import.meta.url)}`, import.meta.url);

// Another process may have the file locked for a moment. Nobody is served while a call waits for it: whoever writes waits longer, between calls.
const BUSY_MS = 100;

// SQLITE_CORRUPT and SQLITE_NOTADB (sqlite.org/rescode.html).
const BROKEN = [11, 26];

const Row = z.object({
  id: z.string(),
  name: z.string().nullable(),
  tags: z.string(),
  image_id: z.string().nullable(),
  created_at_unix: z.number(),
  ended_at_unix: z.number().nullable(),
  end_reason: z.enum(['destroyed', 'snapshotted', 'orphaned_by_restart']).nullable(),
  final_snapshot_id: z.string().nullable(),
});

/**
 * History in an SQLite file. A write goes to the write-ahead log without a wait for the disk: the end of the process loses none,
 * a power cut may lose the last. It takes 20 µs (bench/README.md); the checkpoints that do wait for the disk, tens of
 * milliseconds, run in a thread of their own.
 */
export class SqliteHistory implements History, Disposable {
  readonly #path: string;
  readonly #log: Logger;
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #end: StatementSync;
  readonly #endAll: StatementSync;
  readonly #list: StatementSync;
  readonly #listLive: StatementSync;
  #writes = 0;
  #checkpointing = false;

  private constructor(path: string, database: DatabaseSync, log: Logger) {
    this.#path = path;
    this.#log = log;
    this.#database = database;
    this.#insert = database.prepare(
      'INSERT INTO sandboxes (id, name, tags, image_id, created_at_unix) VALUES (?, ?, ?, ?, ?)',
    );
    const end = 'UPDATE sandboxes SET ended_at_unix = ?, end_reason = ?, final_snapshot_id = ?';
    this.#end = database.prepare(`${end} WHERE id = ? AND ended_at_unix IS NULL`);
    this.#endAll = database.prepare(`${end} WHERE ended_at_unix IS NULL`);
    this.#list = database.prepare('SELECT * FROM sandboxes ORDER BY number DESC LIMIT ?');
    this.#listLive = database.prepare(
      'SELECT * FROM sandboxes WHERE ended_at_unix IS NULL ORDER BY number DESC LIMIT ?',
    );
  }

  /** Opens the file, made if missing. Throws, naming it, when it cannot be used. */
  static open(path: string, log: Logger): SqliteHistory {
    try {
      const database = new DatabaseSync(path, { timeout: BUSY_MS });
      try {
        database.exec(
          'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0',
        );
        migrate(database);
        return new SqliteHistory(path, database, log);
      } catch (error) {
        database.close();
        throw error;
      }
    } catch (error) {
      const advice = isBroken(error) ? ': mend the file, or move it away to begin a new history' : '';
      throw new Error(`the history ${path} cannot be opened (SERVICE_HISTORY_DB_PATH)${advice}`, {
        cause: error,
      });
    }
  }

  began({ id, name, tags, imageId, createdAtUnix }: Beginning): void {
    this.#insert.run(id, name ?? null, JSON.stringify(tags), imageId ?? null, createdAtUnix);
    this.#wrote();
  }

  ended(id: string, { reason, atUnix, finalSnapshotId }: Ending): void {
    this.#end.run(atUnix, reason, finalSnapshotId ?? null, id);
    this.#wrote();
  }

  list({ liveOnly, limit }: HistoryQuery): readonly HistoryRecord[] {
    const rows = (liveOnly ? this.#listLive : this.#list).all(limit);
    return rows.map((row) => toRecord(Row.parse(row)));
  }

  orphanLive(atUnix: number): number {
    return Number(this.#endAll.run(atUnix, 'orphaned_by_restart', null).changes);
  }

  /** The last to close an SQLite file in this mode writes its log back. */
  [Symbol.dispose](): void {
    this.#database.close();
  }

  #wrote(): void {
    this.#writes += 1;
    if (this.#writes < WRITES_BETWEEN_CHECKPOINTS || this.#checkpointing) return;
    this.#writes = 0;
    this.#checkpointing = true;
    const worker = new Worker(CHECKPOINT, { workerData: this.#path });
    worker.unref();
    worker.once('error', (error) => this.#log.error({ reason: reasonOf(error) }, 'history not checkpointed'));
    worker.once('exit', () => (this.#checkpointing = false));
  }
}

/** The file is no database, or one that was damaged. */
function isBroken(error: unknown): boolean {
  return BROKEN.includes((error as { errcode?: number }).errcode ?? 0);
}

function toRecord(row: z.output<typeof Row>): HistoryRecord {
  const { ended_at_unix: atUnix, end_reason: reason } = row;
  return {
    id: row.id,
    name: row.name ?? undefined,
    tags: JSON.parse(row.tags) as Record<string, string>,
    imageId: row.image_id ?? undefined,
    createdAtUnix: row.created_at_unix,
    end:
      atUnix === null || reason === null
        ? undefined
        : { atUnix, reason, finalSnapshotId: row.final_snapshot_id ?? undefined },
  };
}

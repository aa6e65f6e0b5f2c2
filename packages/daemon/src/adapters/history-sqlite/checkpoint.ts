import { DatabaseSync } from 'node:sqlite';
import { workerData } from 'node:worker_threads';

// A thread of its own, which ends with its work: see SqliteHistory.
using database = new DatabaseSync(workerData as string);
database.exec('PRAGMA wal_checkpoint(PASSIVE)');

/** Why a sandbox is no more. */
export type EndReason = 'destroyed' | 'snapshotted' | 'orphaned_by_restart';

/** What is written down of a sandbox when it comes to life. Times are Unix seconds. */
export interface Beginning {
  readonly id: string;
  readonly name: string | undefined;
  readonly tags: Readonly<Record<string, string>>;
  readonly imageId: string | undefined;
  readonly createdAtUnix: number;
}

/** How a sandbox ended. */
export interface Ending {
  readonly reason: EndReason;
  readonly atUnix: number;
  /** The snapshot that holds its last state. */
  readonly finalSnapshotId?: string | undefined;
}

/** One sandbox that is or was. Without an end it lives. */
export interface HistoryRecord extends Beginning {
  readonly end: Ending | undefined;
}

export interface HistoryQuery {
  readonly liveOnly: boolean;
  /** How many at most. */
  readonly limit: number;
}

/**
 * The record of every sandbox that ever lived. Calls return at once: what they wrote survives the end of the process from then
 * on. They throw when it cannot be written.
 */
export interface History {
  /** Notes a sandbox that comes to life. Throws when its id has been noted before. */
  began(sandbox: Beginning): void;
  /** Notes its end. Harmless when it has ended: the first end counts. */
  ended(id: string, ending: Ending): void;
  /** Newest first. */
  list(query: HistoryQuery): readonly HistoryRecord[];
  /** Notes the end of every sandbox that still lives, as whose daemon ended without them. Answers how many there were. */
  orphanLive(atUnix: number): number;
}

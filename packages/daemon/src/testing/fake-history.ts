import type { Beginning, Ending, History, HistoryQuery, HistoryRecord } from '../ports/history.ts';

/** History in memory. */
export class FakeHistory implements History {
  readonly records: HistoryRecord[] = [];

  began(sandbox: Beginning): void {
    if (this.records.some(({ id }) => id === sandbox.id)) throw new Error(`${sandbox.id} is noted already`);
    this.records.push({ ...sandbox, end: undefined });
  }

  ended(id: string, end: Ending): void {
    const at = this.records.findIndex((record) => record.id === id && record.end === undefined);
    const record = this.records[at];
    if (record !== undefined) this.records[at] = { ...record, end };
  }

  list({ liveOnly, limit }: HistoryQuery): readonly HistoryRecord[] {
    return this.records
      .filter(({ end }) => !liveOnly || end === undefined)
      .toReversed()
      .slice(0, limit);
  }

  orphanLive(atUnix: number): number {
    const live = this.records.filter(({ end }) => end === undefined);
    for (const { id } of live) this.ended(id, { reason: 'orphaned_by_restart', atUnix });
    return live.length;
  }
}

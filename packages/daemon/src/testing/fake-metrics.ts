import type { Metrics, StreamKind } from '../ports/metrics.ts';

/** Counts what a test asks about. */
export class FakeMetrics implements Metrics {
  created = 0;
  active = 0;
  readonly phases: string[] = [];
  readonly streams = new Map<StreamKind, number>();

  sandboxCreated(): void {
    this.created += 1;
  }
  sandboxesActive(count: number): void {
    this.active = count;
  }
  booted(): void {
    // Not asked about.
  }
  execDone(): void {
    // Not asked about.
  }
  createPhase(phase: string): void {
    this.phases.push(phase);
  }
  streamsChanged(kind: StreamKind, by: 1 | -1): void {
    this.streams.set(kind, (this.streams.get(kind) ?? 0) + by);
  }
  streamBytes(): void {
    // Not asked about.
  }
  render(): Promise<string> {
    return Promise.resolve('');
  }
}

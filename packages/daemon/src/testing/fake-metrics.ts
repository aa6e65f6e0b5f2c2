import type { Metrics } from '../ports/metrics.ts';

/** Counts what a test asks about. */
export class FakeMetrics implements Metrics {
  created = 0;
  active = 0;
  readonly phases: string[] = [];

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
  render(): Promise<string> {
    return Promise.resolve('');
  }
}

/** What was measured of one thing, in the order in which it was. */
export interface Series {
  readonly name: string;
  readonly unit: Unit;
  readonly values: readonly number[];
}

export type Unit = 'ms' | 'MB/s' | 'requests/s' | 'MiB' | '%';

/** A series in figures. Nearest-rank quantiles: each is a value that was measured. */
export interface Summary {
  readonly n: number;
  readonly min: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

export function summarize(values: readonly number[]): Summary {
  const at = (q: number) => quantile(values, q);
  return { n: values.length, min: at(0), p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}

/** The nearest-rank quantile; NaN of nothing. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The median of the rounds' own ratios: what a busy moment does to both of a round cancels out. */
export function medianRatio(these: readonly number[], those: readonly number[]): number {
  return median(these.map((value, round) => value / (those[round] ?? Number.NaN)));
}

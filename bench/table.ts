import { holds } from './scenario.ts';
import type { Goal } from './scenario.ts';
import type { SeriesSummary } from './results.ts';

const COLUMNS = ['n', 'min', 'p50', 'p95', 'p99', 'max'] as const;
const WIDTH = 9;

export function heading(title: string): string {
  return `${title}\n${'-'.repeat(title.length)}`;
}

/** A line for each series. `changes`: by how many per cent each median differs from the run before. */
export function seriesTable(series: readonly SeriesSummary[], changes: ReadonlyMap<string, number>): string {
  const width = Math.max(...series.map(({ name, unit }) => name.length + unit.length + 2));
  const head = ' '.repeat(width) + COLUMNS.map((column) => column.padStart(WIDTH)).join('');
  const lines = series.map((each) => {
    const cells = COLUMNS.map((column) =>
      (column === 'n' ? String(each.n) : figure(each[column])).padStart(WIDTH),
    );
    const change = changes.get(each.name);
    const tail =
      change === undefined ? '' : `  ${change >= 0 ? '+' : ''}${change.toFixed(0)} % since the run before`;
    return `${`${each.name}, ${each.unit}`.padEnd(width)}${cells.join('')}${tail}`;
  });
  return [head, ...lines].join('\n');
}

export function goalLine(goal: Goal): string {
  const { what, value, bound, sense, unit } = goal;
  return `${holds(goal) ? 'holds ' : 'MISSED'}  ${what}: ${figure(value)} ${unit}, ${sense} ${bound} ${unit}`;
}

/** Three digits that count, whatever the size. */
function figure(value: number): string {
  if (!Number.isFinite(value)) return '-';
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.max(Math.abs(value), 0.001))));
  return value.toFixed(Math.min(digits, 3));
}

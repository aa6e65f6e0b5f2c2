import stringWidth from 'string-width';
import { oneLine } from './text.ts';

/** A column of a table: its title, what it shows of an item, and which columns go first when there is no room. */
export interface Column<T> {
  readonly title: string;
  readonly of: (item: T) => string;
  /** Columns of the lowest rank are left out first; one of rank 0 never is. */
  readonly rank?: number;
  /** Whether a cell may be cut short. */
  readonly isElastic?: boolean;
  readonly align?: 'right';
}

const GAP = 2;
/** What of an elastic column is always shown. */
const LEAST = 8;

/** Lines of a table that are no longer than `width`; no limit is Infinity. Columns that are empty in all of them are left out. */
export function table<T>(items: readonly T[], columns: readonly Column<T>[], width: number): string[] {
  const cells = items.map((item) => columns.map(({ of }) => oneLine(of(item))));
  const isShown = columns.map(
    (column, at) => items.length === 0 || column.rank === undefined || cells.some((row) => row[at] !== ''),
  );
  const natural = columns.map(({ title }, at) =>
    isShown[at] === true
      ? Math.max(...[title, ...cells.map((row) => row[at] ?? '')].map((cell) => stringWidth(cell)))
      : 0,
  );
  const widths = fit(columns, natural, width);
  const line = (row: readonly string[]) =>
    columns
      .flatMap(({ align }, at) => {
        const room = widths[at] ?? 0;
        return room === 0 ? [] : [pad(cut(row[at] ?? '', room), room, align)];
      })
      .join(' '.repeat(GAP))
      .trimEnd();
  return [line(columns.map(({ title }) => title)), ...cells.map(line)];
}

/** How wide each column is: 0 for one that is left out. */
function fit<T>(columns: readonly Column<T>[], natural: readonly number[], width: number): number[] {
  const widths = [...natural];
  const total = () => widths.reduce((sum, each) => sum + (each === 0 ? 0 : each + GAP), -GAP);
  const shrink = () => {
    for (let over = total() - width; over > 0; over = total() - width) {
      const widest = columns.reduce(
        (best, { isElastic }, at) =>
          isElastic === true && (widths[at] ?? 0) > Math.max(LEAST, widths[best] ?? 0) ? at : best,
        -1,
      );
      if (widest < 0) return;
      widths[widest] = Math.max(LEAST, (widths[widest] ?? 0) - over);
    }
  };
  shrink();
  const leaving = columns
    .map(({ rank = 0 }, at) => ({ rank, at }))
    .filter(({ rank }) => rank > 0)
    .sort((a, b) => a.rank - b.rank);
  for (const { at } of leaving) {
    if (total() <= width) break;
    widths.splice(0, widths.length, ...natural.map((each, column) => (widths[column] === 0 ? 0 : each)));
    widths[at] = 0;
    shrink();
  }
  return widths;
}

function pad(text: string, width: number, align: 'right' | undefined): string {
  const space = ' '.repeat(Math.max(0, width - stringWidth(text)));
  return align === 'right' ? space + text : text + space;
}

function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let kept = '';
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (stringWidth(kept + segment) > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

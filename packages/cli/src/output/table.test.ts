import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { table } from './table.ts';
import type { Column } from './table.ts';

interface Item {
  readonly id: string;
  readonly name: string;
  readonly tags: string;
}

const COLUMNS: readonly Column<Item>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name, rank: 2, isElastic: true },
  { title: 'TAGS', of: ({ tags }) => tags, rank: 1, isElastic: true },
];
const ITEMS: readonly Item[] = [
  { id: '12345678', name: 'a-name-of-some-length', tags: 'a=1' },
  { id: '9', name: 'b', tags: 'note=漢字漢字漢字漢字漢字漢字' },
];

test('columns stand under their titles, in all their width', () => {
  expect(table(ITEMS, COLUMNS, Infinity)).toEqual([
    'ID        NAME                   TAGS',
    '12345678  a-name-of-some-length  a=1',
    '9         b                      note=漢字漢字漢字漢字漢字漢字',
  ]);
});

test.each([70, 50, 40, 30, 20, 12])('no line is longer than %i', (width) => {
  const lines = table(ITEMS, COLUMNS, width);
  for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(width);
  expect(lines[1]).toContain('12345678');
});

test('what there is no room for is cut short, and then left out, the least important first', () => {
  expect(table(ITEMS, COLUMNS, 40)[1]).toMatch(/^12345678 {2}a-name-\S*… +a=1$/);
  expect(table(ITEMS, COLUMNS, 20)).toEqual(['ID        NAME', '12345678  a-name-of…', '9         b']);
});

test('a column that is empty in all of them is left out; of no items all titles are shown', () => {
  expect(table([{ id: '1', name: '', tags: 'x' }], COLUMNS, 80)).toEqual(['ID  TAGS', '1   x']);
  expect(table([], COLUMNS, 80)).toEqual(['ID  NAME  TAGS']);
});

test('nothing that controls a terminal gets through', () => {
  expect(table([{ id: '1', name: 'a\u001b[2Jb\nc\u202ed', tags: '' }], COLUMNS, 80)[1]).toBe(
    '1   a [2Jb c d',
  );
});

import { expect, test } from 'vitest';
import { Ring } from './ring.ts';

test.each([
  [['abc'], 'abc', 0],
  [['abcd'], 'abcd', 0],
  [['abcd', 'e'], 'bcde', 1],
  [['ab', 'cdefgh'], 'efgh', 4],
  [['abc', 'de', 'fgh', 'i'], 'fghi', 5],
  [['', 'a', ''], 'a', 0],
])('keeps the newest bytes of %j', (chunks, contents, dropped) => {
  const ring = new Ring(4);
  for (const chunk of chunks) ring.push(Buffer.from(chunk));
  expect(ring.contents().toString()).toBe(contents);
  expect(ring.dropped).toBe(dropped);
});

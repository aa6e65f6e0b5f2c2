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

test('grows with its stream, keeps what it promises, and is read from anywhere', () => {
  const ring = new Ring(10_000);
  const stream = Buffer.from(Array.from({ length: 25_000 }, (_, at) => at % 251));
  for (let at = 0; at < stream.length; at += 777) {
    ring.push(stream.subarray(at, at + 777));
    const seen = stream.subarray(0, at + 777);
    expect(ring.written).toBe(seen.length);
    expect(ring.dropped).toBe(Math.max(0, seen.length - 10_000));
    expect(ring.contents().equals(seen.subarray(-10_000))).toBe(true);
    const from = ring.dropped + 100;
    expect(ring.read(from, 50).equals(seen.subarray(from, from + 50))).toBe(true);
  }
  expect(ring.read(ring.written, 50)).toHaveLength(0);
});

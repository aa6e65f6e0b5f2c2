import { expect, test } from 'vitest';
import { closeFrame, FrameBoundary } from './frame-boundary.ts';

const frame = (length: number, masked = false) => {
  const head =
    length < 126
      ? [length]
      : length < 65_536
        ? [126, length >> 8, length & 255]
        : [127, 0, 0, 0, 0, 0, length >> 16, (length >> 8) & 255, length & 255];
  if (masked) head[0] = (head[0] ?? 0) | 0x80;
  return Buffer.concat([
    Buffer.from([0x82, ...head]),
    Buffer.alloc(masked ? 4 : 0),
    Buffer.alloc(length, 0x88),
  ]);
};

test.each([1, 3, 7, 1000, 1_000_000])('the ends of frames are found in pieces of %i bytes', (size) => {
  const frames = [0, 1, 125, 126, 65_535, 65_536, 5].flatMap((length) => [
    frame(length),
    frame(length, true),
  ]);
  const ends = new Set(frames.map((_, at) => Buffer.concat(frames.slice(0, at + 1)).length));
  const stream = Buffer.concat(frames);
  const boundary = new FrameBoundary();
  expect(boundary.isHere).toBe(true);
  for (let at = 0; at < stream.length; at += size) {
    boundary.push(stream.subarray(at, at + size));
    expect(boundary.isHere).toBe(ends.has(Math.min(at + size, stream.length)));
  }
});

test('a close frame has its code and its reason', () => {
  expect([...closeFrame(1001, 'bye')]).toEqual([0x88, 5, 0x03, 0xe9, 98, 121, 101]);
});

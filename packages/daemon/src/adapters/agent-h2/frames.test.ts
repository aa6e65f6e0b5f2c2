import { expect, test } from 'vitest';
import { frame, FrameReader, requestFrames } from './frames.ts';

function read(chunks: readonly Buffer[]): [number, string][] {
  const frames: [number, string][] = [];
  const reader = new FrameReader((type, payload) => frames.push([type, payload.toString()]));
  for (const chunk of chunks) reader.push(chunk);
  return frames;
}

const stream = Buffer.concat([
  frame(1, Buffer.from('out')),
  frame(2, Buffer.alloc(0)),
  frame(3, Buffer.from('{}')),
]);
const expected = [
  [1, 'out'],
  [2, ''],
  [3, '{}'],
];

test('frames are cut wherever the stream is', () => {
  expect(read([stream])).toEqual(expected);
  expect(read([...stream].map((byte) => Buffer.from([byte])))).toEqual(expected);
  for (let at = 0; at <= stream.length; at += 1) {
    expect(read([stream.subarray(0, at), stream.subarray(at)])).toEqual(expected);
  }
});

test('a frame larger than any that a guest may send is refused before it is kept', () => {
  const header = Buffer.from([1, 0xff, 0xff, 0xff, 0xff]);
  expect(() => read([header])).toThrow('4294967295 bytes');
});

test('a request is its spec and then its input, in pieces', () => {
  const stdin = Buffer.alloc(150_000, 'x');
  const sent = read([Buffer.concat([...requestFrames({ command: 'cat' }, stdin)])]);
  expect(sent[0]).toEqual([0, '{"command":"cat"}']);
  const input = sent.slice(1);
  expect(input.every(([type]) => type === 1)).toBe(true);
  expect(input.map(([, text]) => text).join('')).toBe(stdin.toString());
});

import { afterAll, beforeAll, expect, it } from 'vitest';
import { Lab, thrown } from './lab.ts';
import type { Sandbox } from './lab.ts';

let lab: Lab;
let sandbox: Sandbox;

beforeAll(async () => {
  lab = await Lab.start();
  sandbox = await lab.create();
});
afterAll(() => lab[Symbol.asyncDispose]());

async function textOf(output: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces = [];
  for await (const piece of output) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

it('a terminal runs a shell', async () => {
  await using terminal = await sandbox.pty();
  const shown = textOf(terminal.output);
  await terminal.write('echo $((6 * 7)); stty size; exit\r');
  expect(await shown).toMatch(/42\r\n24 80\r\n/);
});

it('a terminal resizes', async () => {
  await using terminal = await sandbox.pty({ cols: 100, rows: 30 });
  const output = terminal.output[Symbol.asyncIterator]();
  let shown = '';
  const shows = async (text: string) => {
    while (!shown.includes(text)) {
      const next = await output.next();
      if (next.done === true) throw new Error(`ended without ${text}: ${shown}`);
      shown += Buffer.from(next.value as Uint8Array).toString();
    }
  };
  await terminal.write('stty size\r');
  await shows('30 100\r\n');
  const resized = terminal.resize({ cols: 132, rows: 50 });
  await terminal.write('stty size\r');
  await shows('50 132\r\n');
  await resized;
  await using other = await sandbox.pty();
  void textOf(other.output).catch(() => undefined);
  expect((await thrown(other.resize({ cols: 0, rows: 1 }))).message).toContain('resize');
});

it('a terminal tells the exit code', async () => {
  await using terminal = await sandbox.pty();
  await terminal.write('exit 7\r');
  expect(await terminal.wait()).toBe(7);
  const closed = await sandbox.pty();
  const end = thrown(closed.wait());
  await closed.close();
  expect((await end).name).toBe('AtollError');
});

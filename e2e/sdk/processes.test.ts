import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Lab, sh, thrown } from './lab.ts';
import type { Sandbox } from './lab.ts';

let lab: Lab;
let sandbox: Sandbox;

beforeAll(async () => {
  lab = await Lab.start();
  sandbox = await lab.create();
});
afterAll(() => lab[Symbol.asyncDispose]());

it('spawn gives output while it runs', async () => {
  const process = await sandbox.spawn(
    'sh',
    ['-c', 'echo $GREETING; until [ -e /tmp/go ]; do sleep 0.1; done; pwd'],
    {
      env: { GREETING: 'first' },
      cwd: '/var',
    },
  );
  let text = '';
  for await (const chunk of process.output) {
    text += Buffer.from(chunk).toString();
    // It waits for that: what came before came while it ran.
    if (text === 'first\n') await sh(sandbox, 'touch /tmp/go');
  }
  expect(text).toBe('first\n/var\n');
});

it('spawn waits for the exit code', async () => {
  const process = await sandbox.spawn('sh', ['-c', 'echo out; echo err >&2; exit 5']);
  expect(await process.wait()).toBe(5);
  expect((await process.text()).split('\n').toSorted()).toEqual(['', 'err', 'out']);
  const events = [];
  for await (const event of process.events()) events.push(event.type);
  expect(events.at(-1)).toBe('exit');
  const { AtollError } = lab.sdk;
  const long = await sandbox.spawn('sleep', ['600']);
  const late = await thrown(long.wait({ timeoutMs: 300 }));
  expect([late instanceof AtollError, late.name]).toEqual([true, 'TimeoutError']);
  expect((await sandbox.processes()).find(({ id }) => id === long.id)?.exit_code).toBeNull();
  await long.kill('KILL');
});

it('spawn can be killed', async () => {
  const process = await sandbox.spawn('sleep', ['600']);
  await process.kill();
  expect(await process.wait()).toBe(128 + 15);
  const stubborn = await sandbox.spawn('sh', ['-c', 'trap "" TERM; echo ready; while :; do sleep 0.1; done']);
  for await (const _ of stubborn.output) break;
  await stubborn.kill('TERM');
  await stubborn.kill('KILL');
  expect(await stubborn.wait()).toBe(128 + 9);
});

it('spawn is fed stdin', async () => {
  const process = await sandbox.spawn('sh', ['-c', 'read line; echo "got $line"; wc -c']);
  await process.writeStdin('a line\n');
  await process.writeStdin(new Uint8Array(200_000).fill(65));
  await process.closeStdin();
  expect(await process.text()).toBe('got a line\n200000\n');
  expect(await process.wait()).toBe(0);
});

it('a process can be attached to again', async () => {
  const { Sandbox } = lab.sdk;
  const process = await sandbox.spawn('sh', ['-c', 'echo before; read line; echo "after $line"']);
  for await (const chunk of process.output) if (Buffer.from(chunk).includes('before')) break;
  const other = (await Sandbox.get(sandbox.id, { client: lab.client })).process(process.id);
  const text = other.text();
  await other.writeStdin('all\n');
  expect(await text).toBe('before\nafter all\n');
  expect([await other.wait(), await process.wait()]).toEqual([0, 0]);
});

it('processes lists them', async () => {
  const done = await sandbox.spawn('true');
  await done.wait();
  const running = await sandbox.spawn('sleep', ['600']);
  const listed = (await sandbox.processes()).slice(-2);
  expect(listed.map(({ id, command, args, exit_code }) => ({ id, command, args, exit_code }))).toEqual([
    { id: done.id, command: 'true', args: [], exit_code: 0 },
    { id: running.id, command: 'sleep', args: ['600'], exit_code: null },
  ]);
  await listed[1]?.kill();
  expect(await running.wait()).toBe(128 + 15);
});

describe('of this SDK alone', () => {
  it('a process whose output is more than is kept says what was skipped', async () => {
    const process = await sandbox.spawn('sh', ['-c', 'head -c 3000000 /dev/zero']);
    await process.wait();
    let [output, skipped] = [0, 0];
    for await (const event of process.events())
      if (event.type === 'output') output += event.data.length;
      else if (event.type === 'skipped') skipped += event.bytes;
    expect(skipped).toBeGreaterThan(0);
    expect(output + skipped).toBe(3_000_000);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Daemon } from '../harness/daemon.ts';
import { until } from '../harness/poll.ts';
import { createSandbox } from '../harness/sandbox.ts';
import type { Sandbox } from '../harness/sandbox.ts';
import { Cli } from './harness/cli.ts';

const SOON_MS = 30_000;

const stack = new AsyncDisposableStack();
let sandbox: Sandbox;
let cli: Cli;

beforeAll(async () => {
  const daemon = stack.use(await Daemon.start());
  cli = await Cli.of(daemon.url);
  sandbox = await createSandbox(daemon.client, { name: 'dev' });
});
afterAll(() => stack.disposeAsync());

const runs = (pattern: string) => async () => (await sandbox.pgrep(pattern)).length > 0;
const isGone = (pattern: string) => async () => (await sandbox.pgrep(pattern)).length === 0;

describe('exec', () => {
  it('passes output, errors and the exit code on', async () => {
    const script = 'printf "a\\0b"; echo err >&2; exit 3';
    expect(await cli.run(['exec', 'dev', '--', 'sh', '-c', script])).toEqual({
      code: 3,
      stdout: 'a\0b',
      stderr: 'err\n',
    });
    expect(await cli.run(['exec', sandbox.id, 'no-such'])).toMatchObject({
      code: 127,
      stderr: 'no-such: command not found\n',
    });
    expect(await cli.run(['exec', 'dev', '--', 'sh', '-c', 'kill -9 $$'])).toMatchObject({ code: 137 });
  });

  it('takes input, variables, a user, a folder and a time', async () => {
    const how = ['-i', '-w', '/tmp', '-u', 'nobody', '-e', 'A=1', '-e', 'FROM_HERE'];
    const args = ['exec', ...how, 'dev', '--', 'sh', '-c', 'cat; pwd; id -un; echo $A $FROM_HERE'];
    const { stdout } = await cli.run(args, { input: 'in\n', env: { FROM_HERE: 'secret' } });
    expect(stdout).toBe('in\n/tmp\nnobody\n1 secret\n');
    const { code, stderr } = await cli.run(['exec', '--timeout', '1', 'dev', 'sleep', '60']);
    expect({ code, stderr }).toEqual({ code: 124, stderr: 'atoll: the program was ended after 1 s\n' });
  });

  it('shows output as it comes, and feeds input as it comes', async () => {
    const running = cli.start([
      'exec',
      '--stream',
      'dev',
      'sh',
      '-c',
      'echo first; echo second >&2; sleep 300',
    ]);
    await running.says('first\nsecond\n');
    running.signal();
    expect(await running.ended()).toMatchObject({ code: 130 });
    const input = 'x'.repeat(300_000);
    const { stdout } = await cli.run(['exec', '--stream', '-i', 'dev', 'wc', '-c'], { input });
    expect(stdout).toBe('300000\n');
  });

  it.each([[[]], [['--stream']]])('ends the program when it is interrupted (%j)', async (options) => {
    const running = cli.start(['exec', ...options, 'dev', '--', 'sleep', '4321']);
    await until('the program runs', runs('sleep 4321'), SOON_MS);
    running.signal();
    const { code, stderr } = await running.ended();
    expect({ code, stderr: stderr.split('\n') }).toEqual({
      code: 130,
      stderr: [expect.stringMatching(/^atoll: interrupted: the program in \S+ was (killed|ended)$/), ''],
    });
    await until('the program is gone', isGone('sleep 4321'), SOON_MS);
  });

  it('kills a program that does not listen', async () => {
    const deaf = 'trap "" INT TERM; while :; do sleep 0.2; done';
    const running = cli.start(['exec', '--stream', 'dev', '--', 'sh', '-c', deaf]);
    await until('the program runs', runs('trap'), SOON_MS);
    running.signal();
    expect(await running.ended()).toMatchObject({ code: 130 });
    await until('the program is gone', isGone('trap'), SOON_MS);
  });

  it('answers JSON', async () => {
    expect(await cli.json(['exec', 'dev', 'echo', 'hi'])).toEqual({
      stdout: 'hi\n',
      stderr: '',
      exit_code: 0,
    });
  });
});

describe('programs in the background', () => {
  it('are started, listed, followed and killed', async () => {
    const id = await cli.ok(['exec', '-d', 'dev', '--', 'sh', '-c', 'echo one; sleep 1; echo two; exit 4']);
    expect(await cli.run(['logs', 'dev', id])).toEqual({
      code: 0,
      stdout: 'one\ntwo\n',
      stderr: 'atoll: the program ended with 4\n',
    });
    const other = await cli.ok(['exec', '-d', 'dev', 'sleep', '300']);
    expect(await cli.json<{ id: string }[]>(['logs', 'dev'])).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id, exit_code: 4 }),
        expect.objectContaining({ id: other, command: 'sleep', args: ['300'], exit_code: null }),
      ]),
    );
    await cli.ok(['kill', '-s', 'KILL', 'dev', other]);
    const lines = (await cli.ok(['logs', '--json', 'dev', other]))
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines).toEqual([{ type: 'exit', exit_code: 137 }]);
  });

  it('go on when who follows them is interrupted', async () => {
    const id = await cli.ok(['exec', '-d', 'dev', '--', 'sh', '-c', 'echo begun; sleep 8765']);
    const running = cli.start(['logs', 'dev', id]);
    await running.says('begun');
    running.signal();
    expect(await running.ended()).toEqual({
      code: 130,
      stdout: 'begun\n',
      stderr: 'atoll: interrupted: the program goes on\n',
    });
    expect(await runs('sleep 8765')()).toBe(true);
    await cli.ok(['kill', 'dev', id]);
  });
});

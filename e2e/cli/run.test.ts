import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Client } from '../harness/client.ts';
import { Daemon } from '../harness/daemon.ts';
import { machinePids } from '../harness/host.ts';
import { until } from '../harness/poll.ts';
import { listSandboxes } from '../harness/sandbox.ts';
import { Cli } from './harness/cli.ts';

const SOON_MS = 30_000;

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let client: Client;
let cli: Cli;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start());
  client = daemon.client;
  cli = await Cli.of(daemon.url);
});
afterAll(() => stack.disposeAsync());

async function expectNothingLeft(): Promise<void> {
  expect(await listSandboxes(client)).toEqual([]);
  expect((await client.call('GET', '/snapshots')).json).toEqual({ snapshots: [] });
}

it('runs a program in a sandbox of its own, and leaves nothing', async () => {
  const ended = await cli.run(['run', '--', 'python3', '-c', 'print(6*7)']);
  expect(ended).toEqual({ code: 0, stdout: '42\n', stderr: '' });
  await expectNothingLeft();
});

it("passes the program's exit code, output and input on", async () => {
  const script = 'read line; echo "out $line $A $(nproc)"; echo err >&2; exit 7';
  const args = ['run', '-i', '--env', 'A=b', '--cpus', '1', '--memory', '256M', 'sh', '-c', script];
  expect(await cli.run(args, { input: 'in\n' })).toEqual({
    code: 7,
    stdout: 'out in b 1\n',
    stderr: 'err\n',
  });
  expect((await cli.run(['run', 'no-such-program'])).code).toBe(127);
  await expectNothingLeft();
});

it.each([[[]], [['--stream']]])('is interrupted in one line, and leaves nothing (%j)', async (options) => {
  const running = cli.start([
    'run',
    ...options,
    '--name',
    'to-interrupt',
    '--',
    'sh',
    '-c',
    'echo begun; sleep 300',
  ]);
  const runs = async () => {
    const answer = await client.call('POST', '/sandboxes/to-interrupt/exec', {
      command: 'pgrep',
      args: ['sleep'],
    });
    return answer.status === 200 && (answer.json as { exit_code: number }).exit_code === 0;
  };
  await until('the program runs', runs, SOON_MS);
  running.signal();
  const { code, stderr } = await running.ended();
  expect(stderr).toBe('atoll: interrupted: the sandbox was destroyed\n');
  expect(code).toBe(130);
  await expectNothingLeft();
});

it('is interrupted while it boots, and leaves nothing', async () => {
  const running = cli.start(['run', '--', 'sleep', '300']);
  const boots = async () => (await machinePids(daemon.stateDir)).length > 0;
  await until('a boot is under way', boots, SOON_MS);
  running.signal('SIGTERM');
  const { code, stderr } = await running.ended();
  expect(stderr).toMatch(/^atoll: interrupted: (no sandbox is left|the sandbox was destroyed)\n$/);
  expect(code).toBe(143);
  await until('nothing lives', async () => (await listSandboxes(client)).length === 0, SOON_MS);
  await expectNothingLeft();
});

it('keeps the sandbox as a snapshot if asked', async () => {
  const { code, stderr } = await cli.run(['run', '--keep', '--name', 'kept', 'touch', '/root/mark']);
  expect(code).toBe(0);
  const id = /kept as snapshot (\S+)/.exec(stderr)?.[1] ?? '';
  expect(await cli.ok(['snapshot', 'ls', '-q'])).toBe(id);
  await cli.ok(['resume', 'kept']);
  expect(await cli.ok(['exec', 'kept', 'ls', '/root/mark'])).toBe('/root/mark');
  await cli.ok(['rm', 'kept']);
});

it('says what is missing, and exits with 125', async () => {
  expect(await cli.run(['run'])).toMatchObject({
    code: 125,
    stderr: expect.stringMatching(/^atoll: run takes a program .*\n$/) as string,
  });
  expect(await cli.run(['run', '--image', 'none', '--', 'true'])).toEqual({
    code: 125,
    stdout: '',
    stderr: 'atoll: image not found: none ("atoll image ls" shows them)\n',
  });
});

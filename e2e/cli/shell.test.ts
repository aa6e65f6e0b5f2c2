import { afterAll, beforeAll, expect, it } from 'vitest';
import { Daemon } from '../harness/daemon.ts';
import { until } from '../harness/poll.ts';
import { createSandbox } from '../harness/sandbox.ts';
import { Cli } from './harness/cli.ts';
import { Tmux } from './harness/tmux.ts';

const SOON_MS = 30_000;
const SIZE = { cols: 100, rows: 30 };

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let cli: Cli;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start());
  cli = await Cli.of(daemon.url);
  await createSandbox(daemon.client, { name: 'dev' });
});
afterAll(() => stack.disposeAsync());

it('has the size of its terminal, also after that changes', async () => {
  await using tmux = await Tmux.start(SIZE, cli.env);
  await tmux.type('atoll shell dev; echo "code $?"');
  await tmux.shows('root@');
  await tmux.type('stty size');
  await tmux.shows(/^30 100$/m);
  await tmux.resize({ cols: 121, rows: 41 });
  // Asked again until the new size has come all the way.
  await tmux.type('until stty size | grep -x "41 121"; do sleep 0.2; done');
  await tmux.shows(/^41 121$/m);
  await tmux.type('exit 7');
  await tmux.shows(/^code 7$/m);
});

it('gives every key to the shell, and the terminal back as it was', async () => {
  await using tmux = await Tmux.start(SIZE, cli.env);
  await tmux.type(
    'before=$(stty -g); atoll shell dev; code=$?; test "$(stty -g)" = "$before" && echo "same $code"',
  );
  await tmux.shows('root@');
  await tmux.type('echo begun; cat');
  // What is typed before is still the shell's, whose terminal takes it another way.
  await tmux.shows(/^begun$/m);
  await tmux.type('heard');
  // Once as it is typed, once by cat, which is there to be interrupted then.
  await tmux.shows(/heard\s+heard/);
  await tmux.press('C-c');
  await tmux.type('echo "cat ended with $?"');
  await tmux.shows('cat ended with 130');
  await tmux.press('C-d');
  await tmux.shows(/^same \d+$/m);
});

it('is hung up by a signal, in one line, and gives the terminal back', async () => {
  await using tmux = await Tmux.start(SIZE, cli.env);
  await tmux.type(
    'before=$(stty -g); atoll shell dev; code=$?; test "$(stty -g)" = "$before" && echo "same $code"',
  );
  await tmux.shows('root@');
  await tmux.type('sleep 7654');
  await tmux.shows('sleep 7654');
  await tmux.killCommand('atoll shell dev');
  await tmux.shows(/^same 143$/m);
  await tmux.shows('atoll: interrupted: the shell was hung up');
  const isGone = async () => (await cli.run(['exec', 'dev', 'pgrep', '-f', '[s]leep 7654'])).code === 1;
  await until('what ran in the shell is gone', isGone, SOON_MS);
});

it('of run is a shell in a sandbox of its own', async () => {
  await using tmux = await Tmux.start(SIZE, cli.env);
  await tmux.type('atoll run -it --name thrown-away -- sh -c "stty size; exit 9"; echo "code $?"');
  await tmux.shows(/^30 100$/m);
  await tmux.shows(/^code 9$/m);
  expect(await cli.run(['exec', 'thrown-away', 'true'])).toMatchObject({ code: 125 });
});

it('takes what is piped into it', async () => {
  const { code, stdout } = await cli.run(['shell', 'dev'], { input: 'echo $((6*7)); exit 5\n' });
  expect(stdout).toContain('42\r\n');
  expect(code).toBe(5);
});

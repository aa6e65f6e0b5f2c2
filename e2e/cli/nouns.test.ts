import { afterAll, beforeAll, expect, it } from 'vitest';
import { Daemon } from '../harness/daemon.ts';
import { Cli } from './harness/cli.ts';
import { Tmux } from './harness/tmux.ts';

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let cli: Cli;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start());
  cli = await Cli.of(daemon.url);
});
afterAll(() => stack.disposeAsync());

it('sandboxes are made, listed, found again and removed', async () => {
  const id = await cli.ok([
    'create',
    '--name',
    'web',
    '--tag',
    'a=1',
    '--tag',
    'b=two words',
    '-c',
    '1',
    '-m',
    '256M',
  ]);
  expect(await cli.json(['ls'])).toEqual([
    expect.objectContaining({
      id,
      name: 'web',
      tags: { a: '1', b: 'two words' },
      vcpu_count: 1,
      mem_size_mib: 256,
    }),
  ]);
  expect(await cli.ok(['ls', '-q', '--tag', 'a=1'])).toBe(id);
  expect(await cli.ok(['ls', '-q', '--tag', 'a=2'])).toBe('');
  expect(await cli.json(['create', '--get', '--name', 'web'])).toEqual({ id, created: false });
  expect(await cli.run(['create', '--name', 'web'])).toMatchObject({ code: 4 });
  expect(await cli.ok(['status'])).toBe(`${daemon.url} answers: sandboxes 1, snapshots 0, pools 0`);
  expect(await cli.run(['rm', 'web', 'none'])).toMatchObject({ code: 3, stdout: 'web\n' });
  expect(await cli.ok(['rm', '--force', 'none'])).toBe('none');
});

it('a table fits its terminal', async () => {
  await cli.ok([
    'create',
    '--name',
    'a-long-name-for-a-narrow-terminal',
    '--tag',
    `note=${'very long '.repeat(20)}`,
  ]);
  await using tmux = await Tmux.start({ cols: 60, rows: 20 }, cli.env);
  await tmux.type('atoll ls');
  await tmux.shows(/^[0-9a-f-]{36} {2}a-long/m);
  const lines = (await tmux.screen()).split('\n').filter((line) => /^(ID|[0-9a-f]{8}-)/.test(line));
  expect(lines).toHaveLength(2);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(60);
  const plain = await cli.ok(['ls']);
  expect(plain).toContain('very long very long');
  expect(plain).not.toContain('\u001b');
  await cli.ok(['rm', 'a-long-name-for-a-narrow-terminal']);
});

it('snapshots are taken, forked, cloned, resumed, restored and removed', async () => {
  await cli.ok(['create', '--name', 'base', '-m', '256M']);
  await cli.ok(['exec', 'base', 'touch', '/root/mark']);
  const snapshot = await cli.ok(['snapshot', 'base']);
  expect(await cli.json(['snapshot', 'ls'])).toEqual([
    expect.objectContaining({ id: snapshot, name: 'base' }),
  ]);
  expect(await cli.run(['exec', 'base', 'true'])).toMatchObject({ code: 125 });
  const fork = await cli.ok(['fork', snapshot]);
  expect(await cli.ok(['exec', fork, 'ls', '/root/mark'])).toBe('/root/mark');
  expect(await cli.run(['snapshot', 'rm', snapshot])).toMatchObject({ code: 4 });
  await cli.ok(['rm', fork]);
  const clones = (await cli.ok(['clone', 'base', '-n', '2', '--name-prefix', 'twin'])).split('\n');
  expect(clones).toHaveLength(2);
  expect(await cli.ok(['exec', 'twin-2', 'ls', '/root/mark'])).toBe('/root/mark');
  await cli.ok(['rm', ...clones]);
  const resumed = await cli.ok(['resume', 'base']);
  expect(await cli.ok(['checkpoint', 'ls', '-q'])).toBe(snapshot);
  await cli.ok(['rm', resumed]);
  const restored = await cli.ok(['restore', snapshot]);
  expect(await cli.ok(['exec', restored, 'ls', '/root/mark'])).toBe('/root/mark');
  await cli.ok(['rm', restored]);
  expect(await cli.json(['checkpoint', 'pin', snapshot])).toMatchObject({ id: snapshot, pinned: true });
  await cli.ok(['checkpoint', 'unpin', snapshot]);
  expect(await cli.json(['checkpoint', 'prune', '--dry-run'])).toMatchObject({ dry_run: true });
  await cli.ok(['checkpoint', 'rm', snapshot]);
  const ended = await cli.json<{ id: string; end_reason: string }[]>(['history', '--limit', '1']);
  expect(ended).toEqual([expect.objectContaining({ id: restored, end_reason: 'destroyed' })]);
});

it('drives, pools and images are made, listed and removed', async () => {
  const drive = await cli.json<{ id: string }>(['drive', 'create', '64M']);
  expect(drive).toMatchObject({ size_mib: 64, attached_to: [] });
  const holder = await cli.ok(['create', '--drive', drive.id]);
  expect(await cli.ok(['drive', 'ls'])).toContain(`sandbox ${holder}`);
  expect(await cli.run(['drive', 'rm', drive.id])).toMatchObject({ code: 4 });
  await cli.ok(['rm', holder]);
  expect(await cli.ok(['drive', 'rm', drive.id])).toBe(drive.id);

  expect(await cli.json(['pool', 'create', 'idle', '--warm', '0', '--max', '3', '-m', '128M'])).toMatchObject(
    { max_count: 3 },
  );
  expect(await cli.ok(['pool', 'ls', '-q'])).toBe('idle');
  expect(await cli.run(['pool', 'create', 'idle', '--warm', '0'])).toMatchObject({ code: 4 });
  expect(await cli.run(['pool', 'create', 'other'])).toMatchObject({ code: 2 });
  expect(await cli.ok(['pool', 'rm', 'idle'])).toBe('idle');

  expect(await cli.run(['image', 'create', 'none', '/no/such/file'])).toMatchObject({ code: 1 });
  expect(await cli.json(['image', 'ls'])).toEqual([]);
  expect(await cli.run(['image', 'rm', 'none'])).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('image not found: none') as string,
  });
});

it('the tab key is told what there is', async () => {
  await cli.ok(['create', '--name', 'completed']);
  const complete = async (...words: string[]) => (await cli.ok(['__complete', '--', ...words])).split('\n');
  expect(await complete('ch')).toEqual(['checkpoint']);
  expect(await complete('exec', 'comp')).toEqual(['completed']);
  expect(await complete('cp', 'comp')).toEqual(['completed:']);
  expect(await complete('--url', daemon.url, 'drive', '')).toEqual(['create', 'ls', 'rm']);
  expect(await complete('create', '--na')).toEqual(['--name']);
  await using tmux = await Tmux.start({ cols: 100, rows: 20 }, cli.env);
  await tmux.type('exec bash --norc');
  await tmux.type('source <(atoll completion bash); echo sour""ced');
  await tmux.shows('sourced');
  await tmux.press('Enter');
  await tmux.keys('atoll shell comp');
  await tmux.press('Tab');
  await tmux.shows('atoll shell completed');
  await cli.ok(['rm', 'completed']);
});

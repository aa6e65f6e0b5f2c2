import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from '../harness/client.ts';
import { Daemon } from '../harness/daemon.ts';
import { createSandbox } from '../harness/sandbox.ts';
import { Cli } from './harness/cli.ts';
import { emptyFolder } from './harness/installed.ts';

const TOKEN = 'a-token-of-the-tests';

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let cli: Cli;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start({ SERVICE_AUTH_TOKEN: TOKEN }));
  cli = await Cli.of(daemon.url, { ATOLL_TOKEN: TOKEN });
});
afterAll(() => stack.disposeAsync());

const line = (pattern: string) => expect.stringMatching(new RegExp(`^atoll: ${pattern}\n$`)) as string;

describe('a wrong address', () => {
  it.each([
    [
      'nothing listens at',
      'http://127.0.0.1:9',
      'cannot reach the Atoll daemon at http://127.0.0.1:9.*"atoll up".*',
    ],
    [
      'nobody has',
      'http://no-such-host.invalid',
      'cannot reach the Atoll daemon at http://no-such-host.invalid.*',
    ],
  ])('that %s is told in one line', async (_what, url, said) => {
    expect(await cli.run(['ls'], { env: { ATOLL_URL: url } })).toEqual({
      code: 7,
      stdout: '',
      stderr: line(said),
    });
    expect(await cli.run(['--url', url, 'status'])).toEqual({ code: 7, stdout: '', stderr: line(said) });
    expect(await cli.run(['run', '--url', url, 'true'])).toMatchObject({ code: 125, stderr: line(said) });
  });

  it('that is none is told in one line', async () => {
    expect(await cli.run(['--url', 'no address', 'ls'])).toEqual({
      code: 2,
      stdout: '',
      stderr: line('url takes an address.*'),
    });
  });

  it('of another server is told in one line', async () => {
    const server = createServer((_request, response) => response.writeHead(404).end('<html>'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(await cli.run(['--url', url, 'ls'])).toEqual({
      code: 7,
      stdout: '',
      stderr: line('.*not by an Atoll daemon.*'),
    });
    server.close();
  });
});

describe('the token', () => {
  it('comes from the environment or a file, and a wrong or missing one is told in one line', async () => {
    await using folder = await emptyFolder();
    const file = join(folder.path, 'token');
    await writeFile(file, `${TOKEN}\n`);
    await cli.ok(['ls']);
    await cli.ok(['ls', '--token-file', file], { env: { ATOLL_TOKEN: '' } });
    const missing = await cli.run(['ls'], { env: { ATOLL_TOKEN: '' } });
    expect(missing).toEqual({ code: 5, stdout: '', stderr: line('.*asks for a token.*ATOLL_TOKEN.*') });
    const wrong = await cli.run(['ls'], { env: { ATOLL_TOKEN: 'secret-but-wrong' } });
    expect(wrong).toEqual({ code: 5, stdout: '', stderr: line('.*does not take this token.*') });
    expect(wrong.stderr).not.toContain('secret-but-wrong');
    expect(await cli.run(['ls', '--token-file', '/none'])).toMatchObject({
      code: 2,
      stderr: line('--token-file: ENOENT.*'),
    });
  });

  it('is shown in no address but one that asks for it', async () => {
    await createSandbox(new Client(daemon.url, TOKEN), { name: 'shown' });
    expect(await cli.ok(['preview', 'shown', '8000'])).not.toContain(TOKEN);
    expect(await cli.ok(['preview', '--with-token', 'shown', '8000'])).toContain(`token=${TOKEN}`);
  });
});

it('a failure is JSON where results are', async () => {
  const { code, stderr, stdout } = await cli.run(['--json', 'exec', 'none', 'true']);
  expect({ code, stdout }).toEqual({ code: 125, stdout: '' });
  expect(JSON.parse(stderr)).toMatchObject({
    error: 'sandbox not found: none',
    code: 'NOT_FOUND',
    exit_code: 3,
  });
});

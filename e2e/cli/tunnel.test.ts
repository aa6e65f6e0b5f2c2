import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Daemon } from '../harness/daemon.ts';
import { createSandbox } from '../harness/sandbox.ts';
import type { Sandbox } from '../harness/sandbox.ts';
import { Cli } from './harness/cli.ts';

const stack = new AsyncDisposableStack();
let sandbox: Sandbox;
let cli: Cli;

beforeAll(async () => {
  const daemon = stack.use(await Daemon.start());
  cli = await Cli.of(daemon.url);
  sandbox = await createSandbox(daemon.client, { name: 'dev' });
});
afterAll(() => stack.disposeAsync());

it('brings a server of this side into the sandbox, and is closed by Ctrl-C', async () => {
  const server = createServer((_request, response) => response.end('from this side'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const running = cli.start(['tunnel', 'dev', '7070', '--to', String(port)]);
  await running.says('127.0.0.1:7070 inside dev reaches');
  const fetched = 'import urllib.request as r; print(r.urlopen("http://127.0.0.1:7070/").read().decode())';
  expect(await cli.ok(['exec', 'dev', '--', 'python3', '-c', fetched])).toBe('from this side');
  expect(await cli.run(['tunnel', 'dev', '7070', '--to', String(port)])).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/^atoll: port 7070 is in use.*\n$/) as string,
  });
  running.signal();
  const { code, stderr } = await running.ended();
  expect(stderr.split('\n').slice(1)).toEqual(['atoll: interrupted: the tunnel is closed', '']);
  expect(code).toBe(130);
  // The port is free again.
  expect(
    await sandbox.sh('python3 -c "import socket; socket.create_server((\'127.0.0.1\', 7070)); print(1)"'),
  ).toBe('1');
  server.close();
});

it('of a preview answers its address, which works', async () => {
  await cli.ok(['exec', '-d', 'dev', '--', 'python3', '-m', 'http.server', '-d', '/etc', '8000']);
  const url = await cli.ok(['preview', 'dev', '8000', '--path', '/hostname']);
  await expect.poll(async () => (await fetch(url)).status).toBe(200);
  expect(await cli.run(['preview', 'dev', '0'])).toMatchObject({ code: 2 });
});

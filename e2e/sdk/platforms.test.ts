import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startBrowser } from '../harness/browser.ts';
import { Lab, SIZE, TOKEN } from './lab.ts';
import { packedSdk } from './packed.ts';

const run = promisify(execFile);
const MAX_BUNDLE_BYTES = 30_000;
const stack = new AsyncDisposableStack();
let lab: Lab;

beforeAll(async () => {
  lab = stack.use(await Lab.start());
});
afterAll(() => stack.disposeAsync());

/** What a platform is to do; in words that all of them know. */
const SMOKE = `async (sdk, options) => {
  const seen = [];
  const sandbox = await sdk.Sandbox.create(${JSON.stringify(SIZE)}, options);
  try {
    seen.push((await sandbox.exec('echo', ['ran'])).stdout.trim());
    await sandbox.files.write('/tmp/a', new Blob(['blob']).stream());
    seen.push(await sandbox.files.readText('/tmp/a'));
    const process = await sandbox.spawn('sh', ['-c', 'echo spawned; exit 3']);
    seen.push((await process.text()).trim(), await process.wait());
    const terminal = await sandbox.pty();
    await terminal.write('exit 4\\r');
    seen.push(await terminal.wait());
    const stranger = sandbox.process('00000000-0000-4000-8000-000000000000');
    seen.push(await stranger.wait().catch((error) => error.name));
    if (options.local) {
      const tunnel = await sandbox.tunnel(7001, { port: options.local });
      const script = 'import urllib.request as u; print(u.urlopen("http://127.0.0.1:7001/").read().decode())';
      seen.push((await sandbox.exec('python3', ['-c', script])).stdout.trim());
      await tunnel.close();
    } else seen.push(await sandbox.files.upload('a', 'b').catch((error) => error.message));
    return seen;
  } finally {
    await sandbox.stop({ keep: false });
  }
}`;

const DONE = ['ran', 'blob', 'spawned', 3, 4, 'NotFoundError'];

/** A server of this side, for tunnels. */
async function serve(): Promise<number> {
  const server = createServer((_request, response) => response.end('through')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Runs the smoke in another runtime, in the folder where the package is installed. */
async function smoke(program: string, args: readonly string[]): Promise<unknown> {
  const script = `import * as sdk from '@atoll/sdk';
    const smoke = ${SMOKE};
    console.log(JSON.stringify(await smoke(sdk, { local: ${await serve()} })));`;
  const env = { PATH: process.env['PATH'], HOME: '/tmp', ATOLL_URL: lab.daemon.url, ATOLL_TOKEN: TOKEN };
  const { stdout } = await run(program, [...args, script], { cwd: await packedSdk(), env });
  return JSON.parse(stdout);
}

/** A Node of a major version that this machine has. */
async function findNode(major: number): Promise<string | undefined> {
  const folders = ['/usr/bin', '/usr/local/bin', ...(process.env['PATH'] ?? '').split(':')];
  for (const folder of folders) {
    const found = await run(join(folder, 'node'), ['--version']).catch(() => undefined);
    if (found?.stdout.startsWith(`v${major}.`) === true) return join(folder, 'node');
  }
  return undefined;
}

it('runs in the oldest Node that it is for', async (context) => {
  const node = await findNode(20);
  if (node === undefined) return context.skip('this machine has no Node 20');
  expect(await smoke(node, ['--input-type=module', '--eval'])).toEqual([...DONE, 'through']);
});

it('runs in a browser, bundled, in less than 30 kB', async () => {
  const folder = await packedSdk();
  const { outputFiles } = await build({
    stdin: { contents: "import * as sdk from '@atoll/sdk'; globalThis.sdk = sdk;", resolveDir: folder },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    write: false,
  });
  const [bundle] = outputFiles;
  expect(bundle?.contents.length).toBeLessThan(MAX_BUNDLE_BYTES);
  expect(bundle?.text).not.toContain('node:');
  const page = `<!doctype html><title>smoke</title><script type="module">${bundle?.text ?? ''}</script>`;
  const origin = await serveWithDaemon(page);
  const browser = await startBrowser();
  try {
    const tab = await browser.newPage();
    await tab.goto(`${origin}/page`);
    await tab.waitForFunction('globalThis.sdk !== undefined');
    const seen = await tab.evaluate(`(${SMOKE})(sdk, { url: location.origin, token: '${TOKEN}' })`);
    expect(seen).toEqual([...DONE, 'files.upload needs Node, Bun or Deno']);
  } finally {
    await browser.close();
  }
});

/** One origin with a page and the daemon behind it, as a proxy makes it. */
async function serveWithDaemon(page: string): Promise<string> {
  const { hostname, port } = new URL(lab.daemon.url);
  const server = createServer((request, response) => {
    if (request.url === '/page') {
      response.setHeader('content-type', 'text/html').end(page);
      return;
    }
    const { method, url, headers } = request;
    const onward = forward({ hostname, port, method, path: url, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  server.on('upgrade', ({ url, headers }, socket, head) => {
    const onward = forward({ hostname, port, path: url, headers });
    onward.on('response', (answer) => socket.end(`HTTP/1.1 ${answer.statusCode} Refused\r\n\r\n`));
    onward.on('upgrade', (answer, behind, first) => {
      const lines = Object.entries(answer.headers).map(([name, value]) => `${name}: ${String(value)}\r\n`);
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`);
      socket.write(first);
      behind.write(head);
      behind.pipe(socket).pipe(behind);
      for (const each of [socket, behind]) each.on('error', () => each.destroy());
    });
    onward.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

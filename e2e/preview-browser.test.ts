import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import { startBrowser } from './harness/browser.ts';
import { Client } from './harness/client.ts';
import { Daemon } from './harness/daemon.ts';
import { expectFailure } from './harness/failure.ts';
import { packageBundle } from './harness/packages.ts';
import { until } from './harness/poll.ts';
import { createSandbox } from './harness/sandbox.ts';
import type { Sandbox } from './harness/sandbox.ts';
import { handshakeStatus } from './harness/socket.ts';

const TOKEN = 'tok-9d41-preview-secret';
const VITE_PORT = 5173;
const SERVER_PORT = 8001;
const UP_MS = 60_000;
const PAGE_MS = 60_000;

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let client: Client;
let sandbox: Sandbox;
let browser: Browser;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start({ SERVICE_AUTH_TOKEN: TOKEN, SERVICE_LOG_LEVEL: 'trace' }));
  client = new Client(daemon.url, TOKEN);
  sandbox = await createSandbox(client, { mem_size_mib: 1024 });
  browser = await startBrowser();
  stack.defer(() => browser.close());
});

afterAll(() => stack.disposeAsync());

const prefix = (port: number) => `/sandboxes/${sandbox.id}/preview/${port}`;
const link = (port: number, path: string) => `${daemon.url}${prefix(port)}${path}?token=${TOKEN}`;

async function upload(path: string, content: string | Buffer): Promise<void> {
  const { status } = await client.call(
    'PUT',
    `${sandbox.path}/files?path=${path}`,
    new Uint8Array(Buffer.from(content)),
  );
  expect(status).toBe(204);
}

async function start(
  command: string,
  args: readonly string[],
  port: number,
  more: object = {},
): Promise<void> {
  expect((await sandbox.post('exec-stream', { command, args, ...more })).status).toBe(200);
  const isUp = async () => ![502, 504].includes((await client.call('GET', `${prefix(port)}/`)).status);
  await until(`${command} listens`, isUp, UP_MS);
}

async function newPage(): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(PAGE_MS);
  return page;
}

describe('a page in a preview', () => {
  beforeAll(async () => {
    await upload('/tmp/server.py', await readFile(new URL('guests/server.py', import.meta.url)));
    await upload('/tmp/block', 'block');
    await start('python3', ['/tmp/server.py', '127.0.0.1', String(SERVER_PORT)], SERVER_PORT);
  });

  it('is opened by a link with the token, and sees the token nowhere', async () => {
    const page = await newPage();
    await page.goto(link(SERVER_PORT, '/page'));
    expect(page.url()).toBe(`${daemon.url}${prefix(SERVER_PORT)}/page`);
    const seen = await page.title();
    expect(seen).toContain('/page');
    expect(seen).not.toContain(TOKEN);
    expect(seen).not.toContain('atoll_preview');
    const inside = await page.evaluate(async () => (await fetch('view')).text());
    expect(inside).toContain('"path": "/view"');
    expect(inside).not.toContain(TOKEN);
    expect(inside).not.toContain('atoll_preview');
    const statuses = await page.evaluate(`Promise.all(
      ['/sandboxes', '/metrics', location.pathname.replace('8001', '8002')].map(async (path) => (await fetch(path)).status),
    )`);
    expect(statuses).toEqual([401, 200, 401]);
    await page.context().close();
  });

  it('cannot put a worker before later links', async () => {
    const headers = { 'service-worker': 'script' };
    const answer = await client.call('GET', `${prefix(SERVER_PORT)}/worker.js`, undefined, { headers });
    expectFailure(answer, 403, 'SERVICE_WORKER_REFUSED');
  });

  it('is not opened without the token, nor is a WebSocket', async () => {
    const bare = new Client(daemon.url);
    expectFailure(await bare.call('GET', `${prefix(SERVER_PORT)}/`), 401, 'UNAUTHORIZED');
    const forged = { cookie: 'atoll_preview=forged' };
    expectFailure(
      await bare.call('GET', `${prefix(SERVER_PORT)}/`, undefined, { headers: forged }),
      401,
      'UNAUTHORIZED',
    );
    expect(await handshakeStatus(daemon.url, `${prefix(SERVER_PORT)}/socket`)).toBe(401);
    expect(await handshakeStatus(daemon.url, `${prefix(SERVER_PORT)}/socket`, { token: TOKEN })).toBe(101);
    const plain = await bare.call('GET', `${prefix(SERVER_PORT)}/view?token=${TOKEN}&a=1`, undefined, {
      headers: { referer: `${daemon.url}/?token=${TOKEN}` },
    });
    expect(plain.json).toMatchObject({ path: '/view?a=1' });
    expect(plain.text).not.toContain(TOKEN);
    expect(daemon.log.text()).not.toContain(TOKEN);
  });
});

describe('a Vite dev server in a preview', () => {
  it('shows its page and reloads it hot when a file is written', async () => {
    await sandbox.sh('mkdir -p /app/node_modules');
    await upload('/tmp/vite.tar', await packageBundle('vite'));
    await sandbox.sh('tar -xf /tmp/vite.tar -C /app/node_modules && rm /tmp/vite.tar');
    await upload('/app/package.json', '{"type": "module"}');
    await upload('/app/vite.config.js', CONFIG);
    await upload('/app/index.html', '<h1 id="text"></h1><script type="module" src="/main.js"></script>');
    await upload('/app/main.js', MAIN);
    await upload('/app/text.js', "export const text = 'first';\n");
    const args = ['/app/node_modules/vite/bin/vite.js', '--port', String(VITE_PORT), '--strictPort'];
    await start('node', args, VITE_PORT, { cwd: '/app', env: { BASE: `${prefix(VITE_PORT)}/` } });
    const page = await newPage();
    const messages: string[] = [];
    page.on('console', (message) => messages.push(message.text()));
    await page.goto(link(VITE_PORT, '/'));
    await page.waitForFunction("document.querySelector('#text')?.textContent === 'first'");
    await until(
      `hot reload is connected: ${messages.join()}`,
      () => messages.some((text) => text.includes('[vite] connected')),
      UP_MS,
    );
    await page.evaluate("document.body.dataset.mark = 'the same page'");
    await upload('/app/text.js', "export const text = 'second';\n");
    await page.waitForFunction("document.querySelector('#text')?.textContent === 'second'");
    expect(await page.evaluate('document.body.dataset.mark')).toBe('the same page');
    await page.context().close();
  });
});

// As docs/guides/previews.md has it.
const CONFIG = `
const base = process.env.BASE;
const mounted = {
  name: 'mounted',
  configureServer({ middlewares, httpServer }) {
    middlewares.use((request, _response, next) => {
      request.url = base + request.url.slice(1);
      next();
    });
    httpServer.prependListener('upgrade', (request) => {
      request.url = base + request.url.slice(1);
    });
  },
};
export default { base, plugins: [mounted], optimizeDeps: { noDiscovery: true } };
`;

const MAIN = `
import { text } from './text.js';
const show = (value) => { document.querySelector('#text').textContent = value; };
show(text);
import.meta.hot.accept('./text.js', (module) => show(module.text));
`;

import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../harness/poll.ts';
import { Lab, TOKEN } from './lab.ts';
import type { Sandbox } from './lab.ts';

const PORT = 8000;
const UP_MS = 60_000;
let lab: Lab;
let sandbox: Sandbox;

beforeAll(async () => {
  lab = await Lab.start();
  sandbox = await lab.create();
  await sandbox.files.write(
    '/tmp/server.py',
    await readFile(new URL('../guests/server.py', import.meta.url), 'utf8'),
  );
  await sandbox.spawn('python3', ['/tmp/server.py', '127.0.0.1', String(PORT)]);
  await until('it listens', async () => (await sandbox.fetch(PORT, '/view')).ok, UP_MS);
});
afterAll(() => lab[Symbol.asyncDispose]());

it('a preview url answers', async () => {
  const link = sandbox.previewUrl(PORT, '/view?a=1');
  expect(link).toBe(`${lab.daemon.url}/sandboxes/${sandbox.id}/preview/${PORT}/view?a=1`);
  expect((await fetch(link)).status).toBe(401);
  const withToken = sandbox.previewUrl(PORT, '/view?a=1', { withToken: true });
  expect(await (await fetch(withToken)).json()).toMatchObject({ path: '/view?a=1' });
  expect(sandbox.previewUrl(PORT)).toMatch(/\/preview\/8000\/$/);
});

it('a fetch through the preview carries the token', async () => {
  const seen = await (await sandbox.fetch(PORT, '/view')).text();
  expect(seen).toContain('"path": "/view"');
  expect(seen).not.toContain(TOKEN);
  const init = { method: 'POST', headers: { 'x-mine': 'yes' }, body: 'five!' };
  const sent = await (await sandbox.fetch(PORT, '/view?b=2', init)).text();
  expect(sent).toContain('"x-mine", "yes"');
  expect(sent).toContain('"size": 5');
  expect(sent).not.toContain(TOKEN);
  expect((await sandbox.fetch(9999, '/')).status).toBe(502);
});

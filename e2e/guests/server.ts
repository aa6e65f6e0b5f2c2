import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import type { Client } from '../harness/client.ts';
import { expectNoContent } from '../harness/failure.ts';
import { until } from '../harness/poll.ts';
import type { Sandbox } from '../harness/sandbox.ts';

const UP_MS = 30_000;

/** Puts server.py into a sandbox, starts it there, and waits until a preview has its answer. */
export async function startServer(
  client: Client,
  box: Sandbox,
  port: number,
  address = '127.0.0.1',
): Promise<void> {
  const script = await readFile(new URL('server.py', import.meta.url));
  const path = `/tmp/server-${port}.py`;
  expectNoContent(await client.call('PUT', `${box.path}/files?path=${path}`, new Uint8Array(script)));
  const body = { command: 'python3', args: [path, address, String(port)] };
  expect((await box.post('exec-stream', body)).status).toBe(200);
  const isUp = async () => (await client.call('GET', `${box.path}/preview/${port}/`)).status === 200;
  await until(`the server on port ${port} answers`, isUp, UP_MS);
}

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Atoll } from './atoll.ts';

test('an upload that is given up lets go of what it sends', async () => {
  const server = createServer((request) => request.resume());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const interrupt = new AbortController();
  let pulled = 0;
  const cancelled = Promise.withResolvers<unknown>();
  const endless = new ReadableStream<Uint8Array>({
    async pull(controller) {
      pulled += 1;
      if (pulled === 100) interrupt.abort(new Error('interrupted'));
      // As a file is read: not at once.
      await sleep(1);
      controller.enqueue(new Uint8Array(1000));
    },
    cancel: cancelled.resolve,
  });
  const atoll = new Atoll({ url: `http://127.0.0.1:${port}` });
  const upload = atoll.open('PUT', '/file', { body: endless, signal: interrupt.signal });
  await expect(upload).rejects.toThrow('interrupted');
  // Fetch alone would read on for ever.
  await cancelled.promise;
  server.closeAllConnections();
  server.close();
});

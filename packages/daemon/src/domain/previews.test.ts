import { expect, test } from 'vitest';
import { GuestError } from '../ports/agent.ts';
import { fakeService } from '../testing/fake-service.ts';

const SIZES = { vcpuCount: 2, maxVcpuCount: 4, memSizeMib: 128, maxMemSizeMib: 256 };
const TIMEOUT_MS = 10_000;

test.each([
  ['ECONNREFUSED', 'NOTHING_LISTENING'],
  ['ECONNRESET', 'PREVIEW_BROKEN'],
])('a connection that fails with %s is a failure of the server: %s', async (errno, code) => {
  await using service = await fakeService({ sizes: SIZES });
  const { sandboxes, previews } = service.services;
  const { id } = await sandboxes.create({}, new AbortController().signal);
  const { agent } = service.registry.live(id, 'be reached').running;
  agent.connect = (port) => Promise.reject(new GuestError(errno, `connect ${port}: ${errno}`));
  await expect(previews.connect(id, 8000, TIMEOUT_MS)).rejects.toMatchObject({ code, status: 502 });
});

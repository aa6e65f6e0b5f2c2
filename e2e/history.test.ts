import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Daemon } from './harness/daemon.ts';
import { expectFailure } from './harness/failure.ts';
import { createSandbox } from './harness/sandbox.ts';

interface Past {
  readonly id: string;
  readonly name: string | null;
  readonly end_reason: string | null;
  readonly ended_at_unix: number | null;
}

const stack = new AsyncDisposableStack();
let daemon: Daemon;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start());
});
afterAll(() => stack.disposeAsync());

async function history(query = ''): Promise<Past[]> {
  const { status, json, text } = await daemon.client.call('GET', `/sandboxes/history${query}`);
  expect(status, text).toBe(200);
  return (json as { history: Past[] }).history;
}

describe('GET /sandboxes/history', () => {
  it('has every sandbox that ever was, newest first, across kills of the daemon', async () => {
    expect(await history()).toEqual([]);
    const size = { mem_size_mib: 128, vcpu_count: 1 };
    const first = await createSandbox(daemon.client, { ...size, name: 'first', tags: { a: '1' } });
    await first.destroy();
    const second = await createSandbox(daemon.client, { ...size, name: 'second' });
    expect(await history()).toEqual([
      expect.objectContaining({ id: second.id, name: 'second', end_reason: null, ended_at_unix: null }),
      {
        id: first.id,
        name: 'first',
        tags: { a: '1' },
        image_id: null,
        created_at_unix: expect.any(Number) as number,
        ended_at_unix: expect.any(Number) as number,
        end_reason: 'destroyed',
        final_snapshot_id: null,
      },
    ]);
    expect((await history('?live_only=true')).map(({ id }) => id)).toEqual([second.id]);

    await daemon.kill();
    daemon = stack.use(await daemon.restart());
    expect(await history('?live_only=true')).toEqual([]);
    expect((await history()).map(({ end_reason }) => end_reason)).toEqual([
      'orphaned_by_restart',
      'destroyed',
    ]);
    expect((await history('?limit=1')).map(({ id }) => id)).toEqual([second.id]);
  });

  it.each(['?limit=0', '?limit=1001', '?limit=x', '?live_only=maybe', '?since=1'])(
    'refuses %s',
    async (query) => {
      const answer = await daemon.client.call('GET', `/sandboxes/history${query}`);
      expectFailure(answer, 400, 'INVALID_REQUEST', query.slice(1).split('=')[0] ?? '');
    },
  );
});

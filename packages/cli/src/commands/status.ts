import { health, Pool, Sandbox, Snapshot } from '@atoll/sdk';
import type { Command } from 'commander';
import { work } from '../call.ts';
import type { Call } from '../call.ts';
import type { Context } from '../context.ts';

const ANSWER_MS = 10_000;

export function statusCommand(parent: Command, context: Context): void {
  work(
    parent.command('status').description('whether the daemon answers and takes the token, and what it holds'),
    context,
    status,
  );
}

async function status({ out, client, signal }: Call<object>): Promise<void> {
  const options = { client, signal, timeoutMs: ANSWER_MS };
  await health(options);
  const [sandboxes, snapshots, pools] = await Promise.all([
    Sandbox.list(options),
    Snapshot.list(options),
    Pool.list(options),
  ]);
  const counts = { sandboxes: sandboxes.length, snapshots: snapshots.length, pools: pools.length };
  const text = `${client.url} answers: ${Object.entries(counts)
    .map(([what, count]) => `${what} ${count}`)
    .join(', ')}`;
  out.done({ url: client.url, healthy: true, ...counts }, [client.url], text);
}

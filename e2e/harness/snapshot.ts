import type { Answer, Client } from './client.ts';
import { Sandbox } from './sandbox.ts';

/** One item of `GET /snapshots`. */
export interface SnapshotItem {
  readonly id: string;
  readonly source_sandbox_id: string;
  readonly name: string | null;
  readonly tags: Readonly<Record<string, string>>;
  readonly forked_into: string | null;
  readonly parent_snapshot_id: string | null;
  readonly size_bytes: number;
}

/** One item of `GET /snapshots/history`. */
export interface CheckpointItem {
  readonly id: string;
  readonly source_sandbox_id: string;
  readonly retired_at_unix: number;
  readonly parent_snapshot_id: string | null;
  readonly size_bytes: number;
}

/** Takes a snapshot of a sandbox, and answers its id. */
export async function takeSnapshot(client: Client, sandbox: string): Promise<string> {
  const answer = await must(client.call('POST', `/sandboxes/${sandbox}/snapshot`));
  return (answer.json as { snapshot_id: string }).snapshot_id;
}

/** Brings a sandbox up: `<snapshot>/resume`, `<snapshot>/fork`, `history/<checkpoint>/restore`, with a query if wanted. */
export async function bringUp(client: Client, how: string): Promise<Sandbox> {
  const answer = await must(client.call('POST', `/snapshots/${how}`));
  return new Sandbox(client, (answer.json as { id: string }).id);
}

/** Makes clones. Rejects when one of them could not be made. */
export async function makeClones(client: Client, snapshot: string, body: object): Promise<Sandbox[]> {
  const answer = await must(client.call('POST', `/snapshots/${snapshot}/clone`, body));
  const { sandboxes } = answer.json as { sandboxes: { id?: string; error?: string }[] };
  return sandboxes.map(({ id, error }) => {
    if (id === undefined) throw new Error(`a clone: ${error}`);
    return new Sandbox(client, id);
  });
}

export async function listSnapshots(client: Client, query = ''): Promise<SnapshotItem[]> {
  const answer = await must(client.call('GET', `/snapshots${query}`));
  return (answer.json as { snapshots: SnapshotItem[] }).snapshots;
}

export async function listCheckpoints(client: Client, query = ''): Promise<CheckpointItem[]> {
  const answer = await must(client.call('GET', `/snapshots/history${query}`));
  return (answer.json as { checkpoints: CheckpointItem[] }).checkpoints;
}

/** Deletes every snapshot and checkpoint. The sandboxes that stand on them must be gone. */
export async function deleteSnapshots(client: Client): Promise<void> {
  for (const { id } of await listSnapshots(client)) await must(client.call('DELETE', `/snapshots/${id}`));
  for (const { id } of await listCheckpoints(client))
    await must(client.call('DELETE', `/snapshots/history/${id}`));
}

async function must(call: Promise<Answer>): Promise<Answer> {
  const answer = await call;
  if (answer.status >= 300) throw new Error(`${answer.status} ${answer.text}`);
  return answer;
}

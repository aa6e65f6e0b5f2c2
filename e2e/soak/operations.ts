import type { Answer, Client } from '../harness/client.ts';
import { listSandboxes } from '../harness/sandbox.ts';
import type { Item } from '../harness/sandbox.ts';
import { listCheckpoints, listSnapshots } from '../harness/snapshot.ts';
import type { CheckpointItem, SnapshotItem } from '../harness/snapshot.ts';
import { listDrives } from '../storage/drives.ts';
import type { Drive } from '../storage/drives.ts';
import type { Chance } from './chance.ts';

/** What there is, as the daemon lists it. */
export interface Stock {
  readonly sandboxes: readonly Item[];
  readonly snapshots: readonly SnapshotItem[];
  readonly checkpoints: readonly CheckpointItem[];
  readonly drives: readonly Drive[];
}

export async function takeStock(client: Client): Promise<Stock> {
  return {
    sandboxes: await listSandboxes(client),
    snapshots: await listSnapshots(client),
    checkpoints: await listCheckpoints(client),
    drives: await listDrives(client),
  };
}

// What the processors and the memory of a small host carry.
const MOST = { sandboxes: 8, snapshots: 12, checkpoints: 12 };

const SMALL = { mem_size_mib: 128, vcpu_count: 1 };
/** The profile of the pool, which no other create asks for. */
export const POOLED = { mem_size_mib: 160, vcpu_count: 1 };
const NAMES = ['ada', 'bob', 'cleo'];

/** One call to the daemon: what it is, and how it is made. */
export interface Operation {
  readonly what: string;
  readonly call: (client: Client) => Promise<Answer>;
}

type Choice = (chance: Chance, stock: Stock) => Operation | undefined;

const EVERYTHING: readonly (readonly [weight: number, choice: Choice])[] = [
  [6, create],
  [2, (chance) => post('/sandboxes/get-or-create', { ...SMALL, name: chance.pick(NAMES) })],
  [2, () => post('/sandboxes', POOLED)],
  [6, exec],
  [4, (chance, { sandboxes }) => on(chance, sandboxes, (id) => post(`/sandboxes/${id}/snapshot`))],
  [2, (chance, { sandboxes }) => on(chance, sandboxes, (id) => remove(`/sandboxes/${id}`))],
  [3, (chance, { sandboxes }) => on(chance, sandboxes, (id) => remove(`/sandboxes/${id}?keep=false`))],
  [4, (chance, { snapshots }) => on(chance, snapshots, (id) => post(`/snapshots/${id}/resume`))],
  [
    2,
    (chance, { snapshots }) =>
      on(chance, snapshots, (id) => post(`/snapshots/${id}/resume?retain_history=false`)),
  ],
  [2, (chance, { snapshots }) => on(chance, snapshots, (id) => post(`/snapshots/${id}/fork`))],
  [
    2,
    (chance, { snapshots }) =>
      on(chance, snapshots, (id) => post(`/snapshots/${id}/fork?fresh_identity=true`)),
  ],
  [2, (chance, { snapshots }) => on(chance, snapshots, (id) => post(`/snapshots/${id}/clone`, { count: 2 }))],
  [3, (chance, { checkpoints }) => on(chance, checkpoints, (id) => post(`/snapshots/history/${id}/restore`))],
  [2, (chance, { snapshots }) => on(chance, snapshots, (id) => remove(`/snapshots/${id}`))],
  [1, (chance, { checkpoints }) => on(chance, checkpoints, (id) => remove(`/snapshots/history/${id}`))],
  [1, () => post('/snapshots/history/prune', {})],
  [1, () => post('/drives', { size_mib: 16 })],
  [1, (chance, { drives }) => on(chance, drives, (id) => remove(`/drives/${id}`))],
  [1, () => post('/pools', { id: 'pool', warm_count: 1, max_count: 2, ...POOLED })],
  [1, () => remove('/pools/pool')],
];

/** One of all that may be asked for; what there is too much of is deleted instead. */
export function choose(chance: Chance, stock: Stock): Operation {
  const crowded =
    stock.sandboxes.length > MOST.sandboxes
      ? on(chance, stock.sandboxes, (id) => remove(`/sandboxes/${id}?keep=false`))
      : stock.snapshots.length > MOST.snapshots
        ? on(chance, stock.snapshots, (id) => remove(`/snapshots/${id}`))
        : stock.checkpoints.length > MOST.checkpoints
          ? on(chance, stock.checkpoints, (id) => remove(`/snapshots/history/${id}`))
          : undefined;
  return crowded ?? draw(chance, stock);
}

function draw(chance: Chance, stock: Stock): Operation {
  let at = chance.next() * EVERYTHING.reduce((sum, [weight]) => sum + weight, 0);
  const drawn = EVERYTHING.find(([weight]) => (at -= weight) < 0);
  // What needs something of which there is nothing yet begins with a create.
  return drawn?.[1](chance, stock) ?? post('/sandboxes', SMALL);
}

function create(chance: Chance, { drives }: Stock): Operation | undefined {
  const name = chance.happens(0.3) ? chance.pick(NAMES) : undefined;
  const drive = chance.happens(0.3) ? chance.pick(drives) : undefined;
  const attached = drive && [{ id: drive.id, read_only: chance.happens(0.3) }];
  return post('/sandboxes', { ...SMALL, name: name ?? null, drives: attached ?? null });
}

function exec(chance: Chance, { sandboxes }: Stock): Operation | undefined {
  const script = 'date >>/root/dates; sync; wc -l </root/dates';
  return on(chance, sandboxes, (id) =>
    post(`/sandboxes/${id}/exec`, { command: 'sh', args: ['-c', script] }),
  );
}

function on(
  chance: Chance,
  among: readonly { readonly id: string }[],
  operation: (id: string) => Operation,
): Operation | undefined {
  const one = chance.pick(among);
  return one === undefined ? undefined : operation(one.id);
}

function post(path: string, body?: object): Operation {
  return {
    what: `POST ${path} ${JSON.stringify(body ?? {})}`,
    call: (client) => client.call('POST', path, body),
  };
}

function remove(path: string): Operation {
  return { what: `DELETE ${path}`, call: (client) => client.call('DELETE', path) };
}

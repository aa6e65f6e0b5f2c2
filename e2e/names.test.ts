import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, Client } from './harness/client.ts';
import { Daemon } from './harness/daemon.ts';
import { expectFailure } from './harness/failure.ts';
import { createSandbox, listSandboxes, Sandbox } from './harness/sandbox.ts';

const SIZE = { vcpu_count: 1, mem_size_mib: 128 };

let daemon: Daemon;
let client: Client;
beforeAll(async () => {
  daemon = await Daemon.start();
  ({ client } = daemon);
});
afterAll(() => daemon[Symbol.asyncDispose]());
afterEach(async () => {
  for (const { id } of await listSandboxes(client))
    await client.call('DELETE', `/sandboxes/${id}?keep=false`);
  const { json } = await client.call('GET', '/snapshots');
  for (const { id } of (json as { snapshots: { id: string }[] }).snapshots)
    await client.call('DELETE', `/snapshots/${id}`);
});

interface Got {
  readonly id: string;
  readonly created: boolean;
}
const getOrCreate = (body: object) => client.call('POST', '/sandboxes/get-or-create', body);
function got({ status, json, text }: Answer): Got {
  expect(status, text).toBe(200);
  return json as Got;
}

describe('POST /sandboxes/get-or-create', () => {
  it('makes one of fifty calls for a new name', async () => {
    const body = { ...SIZE, name: 'many', tags: { a: '1' }, env: { A: '1' } };
    const answers = (await Promise.all(Array.from({ length: 50 }, () => getOrCreate(body)))).map(got);
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(answers.filter(({ created }) => created)).toHaveLength(1);
    expect(await listSandboxes(client)).toHaveLength(1);
    expect(await new Sandbox(client, 'many').sh('echo $A')).toBe('1');
  });

  it('resumes one of fifty calls for the name of a held snapshot', async () => {
    const source = await createSandbox(client, { ...SIZE, name: 'held' });
    await source.sh('echo kept >/root/note');
    await client.call('DELETE', source.path);
    const answers = (
      await Promise.all(Array.from({ length: 50 }, () => getOrCreate({ name: 'held', mem_size_mib: 256 })))
    ).map(got);
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(answers.filter(({ created }) => created)).toEqual([]);
    expect(await new Sandbox(client, 'held').sh('cat /root/note')).toBe('kept');
    expect((await client.call('GET', '/sandboxes/held')).json).toMatchObject({ mem_size_mib: 128 });
  });

  it.each([
    [{}, 'name'],
    [{ name: null }, 'name'],
    [{ name: 'a b' }, 'name'],
    [{ name: 'fine', vcpu_count: 0 }, 'vcpu_count'],
    [{ name: 'fine', colour: 'red' }, 'colour'],
  ])('refuses %j', async (body, field) => {
    expectFailure(await getOrCreate(body), 400, 'INVALID_REQUEST', field);
  });
});

describe('GET /sandboxes/by-name/:name', () => {
  it('answers the id of a live one, 409 for a held one, 404 for none', async () => {
    const sandbox = await createSandbox(client, { ...SIZE, name: 'here' });
    expect((await client.call('GET', '/sandboxes/by-name/here')).json).toEqual({ id: sandbox.id });
    await client.call('DELETE', sandbox.path);
    expectFailure(
      await client.call('GET', '/sandboxes/by-name/here'),
      409,
      'NAME_HELD_BY_SNAPSHOT',
      'get-or-create',
    );
    expectFailure(await client.call('GET', '/sandboxes/by-name/nobody'), 404, 'NOT_FOUND', 'nobody');
  });
});

describe('a name', () => {
  it('works wherever an id does', async () => {
    await createSandbox(client, { ...SIZE, name: 'web' });
    expect(await new Sandbox(client, 'web').sh('hostname')).toBe('web');
    const { status } = await client.call('POST', '/sandboxes/web/snapshot');
    expect(status).toBe(200);
  });

  it('has one holder, live or held', async () => {
    const first = await createSandbox(client, { ...SIZE, name: 'mine' });
    const taken = () => client.call('POST', '/sandboxes', { ...SIZE, name: 'mine' });
    expectFailure(await taken(), 409, 'NAME_TAKEN', first.id);
    const { json } = await client.call('DELETE', first.path);
    const { snapshot_id } = json as { snapshot_id: string };
    expectFailure(await taken(), 409, 'NAME_TAKEN', snapshot_id);
    await client.call('DELETE', `/snapshots/${snapshot_id}`);
    await createSandbox(client, { ...SIZE, name: 'mine' });
    expect(await listSandboxes(client)).toHaveLength(1);
  });
});

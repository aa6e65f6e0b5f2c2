import { release } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from './harness/client.ts';
import { Daemon } from './harness/daemon.ts';
import { expectFailure, expectNoContent } from './harness/failure.ts';
import { kibField } from './harness/host.ts';
import { createSandbox, listSandboxes } from './harness/sandbox.ts';
import type { Sandbox } from './harness/sandbox.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const NAME = 'Box_1-a';

const stack = new AsyncDisposableStack();
let client: Client;
/** Created with every field. */
let full: Sandbox;
/** Created without a body. */
let plain: Sandbox;

beforeAll(async () => {
  const daemon = stack.use(await Daemon.start());
  client = daemon.client;
  full = await createSandbox(client, {
    name: NAME,
    tags: { team: 'blue', stage: 'test', 'a b&c': 'ä=ö' },
    vcpu_count: 1,
    mem_size_mib: 256,
    env: { COLOUR: 'green' },
  });
  plain = await createSandbox(client);
});

afterAll(() => stack.disposeAsync());

describe('create', () => {
  it('answers nothing but the id', async () => {
    const answer = await client.call('POST', '/sandboxes', {});
    expect(answer.status).toBe(200);
    const { id } = answer.json as { id: string };
    expect(answer.json).toStrictEqual({ id: expect.stringMatching(UUID) as string });
    expectNoContent(await client.call('DELETE', `/sandboxes/${id}?keep=false`));
  });

  it('takes null for every optional field', async () => {
    const nothing = { name: null, tags: null, vcpu_count: null, mem_size_mib: null, env: null };
    await using sandbox = await createSandbox(client, nothing);
    expect(await show(sandbox.id)).toMatchObject({ name: null, tags: {}, vcpu_count: 2, mem_size_mib: 512 });
  });

  it('refuses a name that is taken, and gives it to one of two who ask at once', async () => {
    expectFailure(await client.call('POST', '/sandboxes', { name: NAME }), 409, 'NAME_TAKEN', NAME);
    const rivals = [{ name: 'rival' }, { name: 'rival' }];
    const answers = await Promise.all(rivals.map((body) => client.call('POST', '/sandboxes', body)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    expectNoContent(await client.call('DELETE', '/sandboxes/rival?keep=false'));
  });

  it('takes names of 1 and of 64 characters, whatever they begin and end with', async () => {
    for (const name of ['x', '-', '_a-', 'y'.repeat(64)]) {
      await using sandbox = await createSandbox(client, { name });
      expect(await show(name)).toMatchObject({ id: sandbox.id, name });
    }
  });
});

describe('list and show', () => {
  it('has exactly the fields of the contract', async () => {
    const item = {
      id: full.id,
      name: NAME,
      tags: { team: 'blue', stage: 'test', 'a b&c': 'ä=ö' },
      created_at_unix: expect.any(Number) as number,
      image_id: null,
      vcpu_count: 1,
      mem_size_mib: 256,
      egress: null,
      rate_limit: null,
      drives: [],
      jailed: false,
      parent_snapshot_id: null,
    };
    expect(await show(full.id)).toStrictEqual(item);
    expect(await show(NAME)).toStrictEqual(item);
    const { json } = await client.call('GET', '/sandboxes');
    const defaults = { ...item, id: plain.id, name: null, tags: {}, vcpu_count: 2, mem_size_mib: 512 };
    expect(json).toStrictEqual({ sandboxes: [item, defaults] });
  });

  it('knows when a sandbox was created', async () => {
    const { created_at_unix } = (await show(plain.id)) as { created_at_unix: number };
    expect(Number.isInteger(created_at_unix)).toBe(true);
    expect(Math.abs(created_at_unix - Date.now() / 1000)).toBeLessThan(180);
  });

  it.each([
    ['?tag.team=blue', true],
    ['?tag.team=blue&tag.stage=test', true],
    ['?tag.team=blue&tag.team=blue', true],
    ['?tag.a%20b%26c=%C3%A4%3D%C3%B6', true],
    ['?tag.team=red', false],
    ['?tag.team=blue&tag.stage=live', false],
    ['?tag.team=blue&tag.team=red', false],
    ['?tag.team=', false],
    ['?tag.none=blue', false],
    ['?tag.toString=blue', false],
    ['?tag.__proto__=blue', false],
  ])('filters by %s', async (query, listed) => {
    expect((await listSandboxes(client, query)).map(({ id }) => id)).toEqual(listed ? [full.id] : []);
  });

  it('answers 404 for what is not there', async () => {
    const id = '00000000-0000-4000-8000-000000000000';
    expectFailure(await client.call('GET', `/sandboxes/${id}`), 404, 'NOT_FOUND', `sandbox not found: ${id}`);
    expectFailure(await client.call('GET', '/sandboxes/nobody'), 404, 'NOT_FOUND', 'nobody');
    const exec = await client.call('POST', '/sandboxes/nobody/exec', { command: 'true' });
    expectFailure(exec, 404, 'NOT_FOUND', 'nobody');
  });
});

describe('delete', () => {
  it('destroys by id, then answers 404', async () => {
    const { id, path } = await createSandbox(client);
    expectNoContent(await client.call('DELETE', `${path}?keep=false`));
    expectFailure(await client.call('DELETE', `${path}?keep=false`), 404, 'NOT_FOUND', id);
    expectFailure(await client.call('GET', path), 404, 'NOT_FOUND', id);
    expectFailure(await client.call('POST', `${path}/exec`, { command: 'true' }), 404, 'NOT_FOUND', id);
  });

  it('destroys by name, and the name can be had again', async () => {
    const first = await createSandbox(client, { name: 'phoenix' });
    expectNoContent(await client.call('DELETE', '/sandboxes/phoenix?keep=false'));
    await using second = await createSandbox(client, { name: 'phoenix' });
    expect(second.id).not.toBe(first.id);
  });

  it('lets one of two who delete at once have it', async () => {
    const sandbox = await createSandbox(client);
    const answers = await Promise.all([sandbox.destroy(), sandbox.destroy()]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 404]);
  });
});

describe('guest', () => {
  it('has a kernel of its own', async () => {
    expect(await plain.sh('uname -r')).not.toBe(release());
  });

  it.each([
    ['full', 1, 256],
    ['plain', 2, 512],
  ])('has the processors and the memory asked for (%s)', async (which, vcpus, mib) => {
    const sandbox = which === 'full' ? full : plain;
    expect(await sandbox.sh('nproc')).toBe(String(vcpus));
    const total = kibField(await sandbox.sh('cat /proc/meminfo'), 'MemTotal') / 1024;
    // The kernel keeps a part for itself before it counts.
    expect(total).toBeLessThanOrEqual(mib);
    expect(total).toBeGreaterThan(mib * 0.85);
  });

  it('is called as the sandbox is, with a hyphen where host names have no underscore', async () => {
    expect(await full.sh('hostname; cat /proc/sys/kernel/hostname')).toBe('Box-1-a\nBox-1-a');
    expect(await plain.sh('hostname')).not.toBe('');
  });

  it('has the environment of its creation', async () => {
    expect(await full.sh('echo $COLOUR')).toBe('green');
    expect(await plain.sh('echo $COLOUR')).toBe('');
  });

  it('has an identity of its own', async () => {
    const ids = await Promise.all([full.sh('cat /etc/machine-id'), plain.sh('cat /etc/machine-id')]);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(ids[0]).not.toBe(ids[1]);
  });

  it('knows the time', async () => {
    const before = Date.now() / 1000;
    const guest = Number(await plain.sh('date +%s.%N'));
    expect(guest).toBeGreaterThan(before - 1);
    expect(guest).toBeLessThan(Date.now() / 1000 + 1);
  });

  it('talks to itself over loopback', async () => {
    const talk = [
      'import socket',
      's = socket.create_server(("127.0.0.1", 0))',
      'c = socket.create_connection(s.getsockname(), 5)',
      's.accept()[0].sendall(b"hello")',
      'print(c.recv(5).decode())',
    ];
    expect((await plain.exec('python3', ['-c', talk.join('\n')])).stdout).toBe('hello\n');
  });

  it('has one network card, with an IPv4 address alone', async () => {
    expect(await plain.sh('ls /sys/class/net')).toBe('eth0\nlo');
    expect(await plain.sh('cat /proc/net/if_inet6 | grep -c eth0 || true')).toBe('0');
  });
});

async function show(idOrName: string): Promise<unknown> {
  const { status, json, text } = await client.call('GET', `/sandboxes/${idOrName}`);
  expect(status, text).toBe(200);
  return json;
}

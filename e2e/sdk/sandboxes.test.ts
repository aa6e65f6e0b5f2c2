import { afterAll, beforeAll, expect, it } from 'vitest';
import { Lab, SIZE, thrown } from './lab.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await Lab.start();
});
afterAll(() => lab[Symbol.asyncDispose]());

const connect = () => ({ client: lab.client });

it('create runs a command at once', async () => {
  await using sandbox = await lab.create();
  expect(await sandbox.exec('python3', ['-c', 'print(6*7)'])).toEqual({
    stdout: '42\n',
    stderr: '',
    exit_code: 0,
  });
});

it('create takes name tags size and env', async () => {
  const body = {
    name: 'full',
    tags: { team: 'a' },
    vcpu_count: 2,
    mem_size_mib: 192,
    env: { COLOUR: 'blue' },
  };
  await using sandbox = await lab.create(body);
  expect(await sandbox.info()).toMatchObject({
    id: sandbox.id,
    name: 'full',
    tags: { team: 'a' },
    vcpu_count: 2,
    mem_size_mib: 192,
    egress: null,
  });
  expect((await sandbox.exec('sh', ['-c', 'echo $COLOUR; nproc'])).stdout).toBe('blue\n2\n');
});

it('get finds by id and by name', async () => {
  const { Sandbox } = lab.sdk;
  await using sandbox = await lab.create({ name: 'findable' });
  const byId = await Sandbox.get(sandbox.id, connect());
  const byName = await Sandbox.get('findable', connect());
  expect([byId.id, byName.id]).toEqual([sandbox.id, sandbox.id]);
  expect([byId.name, byId.vcpu_count]).toEqual(['findable', SIZE.vcpu_count]);
  expect((await byName.exec('true')).exit_code).toBe(0);
});

it('get of an unknown id is not found', async () => {
  const { Sandbox, NotFoundError } = lab.sdk;
  const error = await thrown(Sandbox.get('nobody', connect()));
  expect(error).toBeInstanceOf(NotFoundError);
  expect(error).toMatchObject({ status: 404, code: 'NOT_FOUND', message: 'sandbox not found: nobody' });
});

it('get or create makes one then finds it', async () => {
  const { Sandbox } = lab.sdk;
  const body = { ...SIZE, name: 'kept' };
  const first = await Sandbox.getOrCreate(body, connect());
  expect(first.created).toBe(true);
  await first.files.write('/tmp/mark', 'here');
  const again = await Sandbox.getOrCreate(body, connect());
  expect([again.id, again.created]).toEqual([first.id, false]);
  await again.stop();
  const resumed = await Sandbox.getOrCreate(body, connect());
  expect(resumed.created).toBe(false);
  expect(await resumed.files.readText('/tmp/mark')).toBe('here');
  await resumed.stop({ keep: false });
});

it('by name tells the id', async () => {
  const { Sandbox, NotFoundError, ConflictError } = lab.sdk;
  await using sandbox = await lab.create({ name: 'named' });
  expect((await Sandbox.byName('named', connect())).id).toBe(sandbox.id);
  expect(await thrown(Sandbox.byName('other', connect()))).toBeInstanceOf(NotFoundError);
  const snapshot = await sandbox.snapshot();
  const held = await thrown(Sandbox.byName('named', connect()));
  expect(held).toBeInstanceOf(ConflictError);
  expect(held).toMatchObject({ code: 'NAME_HELD_BY_SNAPSHOT' });
  await snapshot.delete();
});

it('list filters by tags', async () => {
  const { Sandbox } = lab.sdk;
  await using one = await lab.create({ tags: { team: 'search', stage: 'test' } });
  await using two = await lab.create({ tags: { team: 'search' } });
  const ids = async (tags?: Record<string, string>) =>
    (await Sandbox.list({ ...connect(), tags })).map(({ id }) => id).toSorted();
  expect(await ids()).toEqual([one.id, two.id].toSorted());
  expect(await ids({ team: 'search' })).toEqual([one.id, two.id].toSorted());
  expect(await ids({ team: 'search', stage: 'test' })).toEqual([one.id]);
  expect(await ids({ team: 'another' })).toEqual([]);
  const [listed] = await Sandbox.list({ ...connect(), tags: { stage: 'test' } });
  expect(listed?.tags).toEqual({ team: 'search', stage: 'test' });
  expect((await listed?.exec('echo', ['listed']))?.stdout).toBe('listed\n');
});

it('stop keeps a snapshot by default', async () => {
  const { Sandbox, Snapshot } = lab.sdk;
  const sandbox = await lab.create();
  const { kept, snapshot_id } = await sandbox.stop();
  expect(kept).toBe(true);
  const [snapshot] = await Snapshot.list({ ...connect(), source_sandbox_id: sandbox.id });
  expect(snapshot?.id).toBe(snapshot_id);
  expect(await Sandbox.list(connect())).toEqual([]);
  await snapshot?.delete();
});

it('stop without keep destroys', async () => {
  const { Snapshot, NotFoundError } = lab.sdk;
  const sandbox = await lab.create();
  expect(await sandbox.stop({ keep: false })).toEqual({ kept: false, snapshot_id: null });
  expect(await thrown(sandbox.info())).toBeInstanceOf(NotFoundError);
  expect(await Snapshot.list({ ...connect(), source_sandbox_id: sandbox.id })).toEqual([]);
});

it('a using block destroys it at its end', async () => {
  const { Sandbox, Snapshot } = lab.sdk;
  {
    await using sandbox = await lab.create();
    expect((await sandbox.exec('true')).exit_code).toBe(0);
  }
  {
    await using sandbox = await lab.create();
    // Destroyed already: the block's end finds nothing to do.
    await sandbox.stop({ keep: false });
  }
  expect([await Sandbox.list(connect()), await Snapshot.list(connect())]).toEqual([[], []]);
});

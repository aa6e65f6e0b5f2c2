import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Lab, sh, thrown } from './lab.ts';
import type { Sandbox } from './lab.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await Lab.start();
});
afterEach(async () => {
  const { Sandbox, Snapshot, Checkpoint } = lab.sdk;
  for (const sandbox of await Sandbox.list(connect())) await sandbox.stop({ keep: false });
  for (const snapshot of await Snapshot.list(connect())) await snapshot.delete();
  for (const checkpoint of await Checkpoint.list(connect())) await checkpoint.delete();
});
afterAll(() => lab[Symbol.asyncDispose]());

const connect = () => ({ client: lab.client });

/** A program that lives on only where its memory does. */
async function makeCounter(sandbox: Sandbox): Promise<void> {
  const program = 'at=0; while :; do at=$((at + 1)); echo $at >/tmp/at; sleep 0.05; done';
  await sh(
    sandbox,
    `setsid sh -c '${program}' >/dev/null 2>&1 </dev/null & until [ -s /tmp/at ]; do sleep 0.05; done`,
  );
}
const counts = (sandbox: Sandbox) =>
  sh(
    sandbox,
    'was=$(cat /tmp/at); until [ "$(cat /tmp/at)" -gt "$was" ] 2>/dev/null; do sleep 0.05; done; echo counting',
  );
const address = (sandbox: Sandbox) => sh(sandbox, "ip -4 -o addr show dev eth0 | awk '{print $4}'");

it('snapshot list and get', async () => {
  const { Snapshot, NotFoundError } = lab.sdk;
  const sandbox = await lab.create({ name: 'pictured', tags: { a: 'b' } });
  const snapshot = await sandbox.snapshot();
  const listed = await Snapshot.list(connect());
  expect(listed.map(({ id, name, tags }) => ({ id, name, tags }))).toEqual([
    { id: snapshot.id, name: 'pictured', tags: { a: 'b' } },
  ]);
  expect(await Snapshot.get(snapshot.id, connect())).toMatchObject({ source_sandbox_id: sandbox.id });
  expect(await snapshot.info()).toMatchObject({ id: snapshot.id, parent_snapshot_id: null });
  expect(await Snapshot.list({ ...connect(), source_sandbox_id: 'another' })).toEqual([]);
  await snapshot.delete();
  expect(await thrown(Snapshot.get(snapshot.id, connect()))).toBeInstanceOf(NotFoundError);
  expect(await thrown(snapshot.info())).toBeInstanceOf(NotFoundError);
});

it('resume goes on where it stopped', async () => {
  const { Sandbox, Checkpoint, Snapshot } = lab.sdk;
  const sandbox = await lab.create();
  await makeCounter(sandbox);
  const snapshot = await sandbox.snapshot();
  const resumed = await snapshot.resume({ retain_history: false });
  expect(await counts(resumed)).toBe('counting');
  expect(await Checkpoint.list(connect())).toEqual([]);
  const again = await resumed.snapshot();
  expect((await again.info()).parent_snapshot_id).toBe(snapshot.id);
  expect(await Snapshot.list({ ...connect(), parent_snapshot_id: snapshot.id })).toHaveLength(1);
  expect(await counts(await Sandbox.resume(again.id, connect()))).toBe('counting');
});

it('fork keeps the snapshot', async () => {
  const { Sandbox, ConflictError } = lab.sdk;
  const snapshot = await (await lab.create()).snapshot();
  const fork = await snapshot.fork();
  expect((await snapshot.info()).forked_into).toBe(fork.id);
  expect(await thrown(snapshot.delete())).toBeInstanceOf(ConflictError);
  expect(await fork.stop()).toEqual({ kept: false, snapshot_id: null });
  const second = await Sandbox.fork(snapshot.id, connect());
  expect((await second.exec('true')).exit_code).toBe(0);
});

it('clone makes many with identities of their own', async () => {
  const { ApiError, Sandbox } = lab.sdk;
  const source = await lab.create();
  await source.files.write('/tmp/mark', 'the same');
  const snapshot = await source.snapshot();
  const clones = await snapshot.clone({ count: 3, name_prefix: 'many', tags: { of: 'many' } });
  const made = clones.filter((each) => each instanceof Sandbox);
  expect(made).toHaveLength(3);
  const addresses = await Promise.all(made.map(address));
  expect(new Set(addresses).size).toBe(3);
  expect(await Promise.all(made.map((each) => each.files.readText('/tmp/mark')))).toEqual(
    Array(3).fill('the same'),
  );
  expect(
    (await Sandbox.list({ ...connect(), tags: { of: 'many' } })).map(({ name }) => name).toSorted(),
  ).toEqual(['many-1', 'many-2', 'many-3']);
  // One name is taken: its clone is an error in its place, as typed as any.
  await made[1]?.stop({ keep: false });
  const [first, second] = await Sandbox.clone(snapshot.id, { count: 2, name_prefix: 'many' }, connect());
  expect(first).toBeInstanceOf(ApiError);
  expect(first).toMatchObject({ name: 'ConflictError', status: 409, code: 'NAME_TAKEN' });
  expect(second).toBeInstanceOf(Sandbox);
});

it('checkpoints restore pin and delete', async () => {
  const { Checkpoint, NotFoundError, Sandbox } = lab.sdk;
  const sandbox = await lab.create();
  await sandbox.files.write('/tmp/mark', 'then');
  const snapshot = await sandbox.snapshot();
  const resumed = await snapshot.resume();
  await resumed.files.write('/tmp/mark', 'later');
  await resumed.stop({ keep: false });
  const [checkpoint] = await Checkpoint.list({ ...connect(), source_sandbox_id: sandbox.id });
  expect(checkpoint).toMatchObject({ id: snapshot.id, pinned: false });
  expect(await checkpoint?.pin(true)).toMatchObject({ pinned: true });
  const restored = await checkpoint?.restore();
  expect(await restored?.files.readText('/tmp/mark')).toBe('then');
  await restored?.stop({ keep: false });
  const twice = await Sandbox.restore(snapshot.id, connect());
  await twice.stop({ keep: false });
  await Checkpoint.delete(snapshot.id, connect());
  expect(await thrown(checkpoint?.delete() ?? Promise.resolve())).toBeInstanceOf(NotFoundError);
});

it('prune says what would go', async () => {
  const { Checkpoint } = lab.sdk;
  await (await (await lab.create()).snapshot()).resume();
  const answer = await Checkpoint.prune({ ...connect(), dry_run: true });
  // Without a limit on history nothing is beyond it.
  expect(answer).toEqual({ dry_run: true, checkpoints: [], bytes: 0 });
  expect(await Checkpoint.prune(connect())).toMatchObject({ dry_run: false });
  expect(await Checkpoint.list(connect())).toHaveLength(1);
});

it('a fresh identity on resume fork and restore', async () => {
  const { Checkpoint, ConflictError } = lab.sdk;
  const snapshot = await (await lab.create()).snapshot();
  const fork = await snapshot.fork({ fresh_identity: true });
  // Beside its fork, which a snapshot could not be without an identity of its own.
  const resumed = await snapshot.resume({ fresh_identity: true });
  const [checkpoint] = await Checkpoint.list(connect());
  if (checkpoint === undefined) throw new Error('the resume left no checkpoint');
  const first = await checkpoint.restore();
  expect(await thrown(checkpoint.restore())).toBeInstanceOf(ConflictError);
  const second = await checkpoint.restore({ fresh_identity: true });
  const addresses = await Promise.all([fork, resumed, first, second].map(address));
  expect(new Set(addresses).size).toBe(4);
});

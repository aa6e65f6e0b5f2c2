import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, test, vi } from 'vitest';
import { fakeService } from '../testing/fake-service.ts';
import { Activity } from './activity.ts';
import { Guests } from './guests.ts';

const SIZES = { vcpuCount: 2, maxVcpuCount: 4, memSizeMib: 128, maxMemSizeMib: 256 };
const PHASES = ['network_lease', 'egress_apply', 'rootfs_clone', 'setup', 'total'];
const { signal } = new AbortController();

async function setUp() {
  const own = await fakeService({ sizes: SIZES });
  const { fakes, registry, services } = own;
  const leftovers = async () => [
    ...fakes.vmm.machines.keys(),
    ...(await fakes.storage.listMachines()),
    ...fakes.network.rules.keys(),
    ...fakes.network.held,
  ];
  const { sandboxes, images, drives } = services;
  const { imageStore, driveStore } = own;
  return {
    ...fakes,
    registry,
    sandboxes,
    images,
    imageStore,
    drives,
    driveStore,
    leftovers,
    [Symbol.asyncDispose]: () => own[Symbol.asyncDispose](),
  };
}

const codeOf = (code: string) => expect.objectContaining({ code }) as Error;

test('a create introduces the guest to itself and counts', async () => {
  await using it = await setUp();
  const { id } = await it.sandboxes.create({ name: 'web', env: { A: '1' } }, signal);
  const [session] = it.agent.sessions.values();
  expect(session?.identity).toMatchObject({
    hostname: 'web',
    env: { A: '1' },
    machineId: id.replaceAll('-', ''),
  });
  expect(session?.identity.entropy).toHaveLength(32);
  expect(it.metrics).toMatchObject({ created: 1, active: 1, phases: [...PHASES] });
});

test.each([
  ['web', 'web'],
  ['my_box', 'my-box'],
  ['-a-', 'a'],
  ['__', /^[0-9a-f]{8}$/],
])('a sandbox named %s has a host name that is one', async (name, hostname) => {
  await using it = await setUp();
  await it.sandboxes.create({ name }, signal);
  expect([...it.agent.sessions.values()][0]?.identity.hostname).toMatch(hostname);
});

test('sizes are those asked for, else the defaults, and never above the ceilings', async () => {
  await using it = await setUp();
  expect(await it.sandboxes.create({}, signal)).toMatchObject({ vcpuCount: 2, memSizeMib: 128 });
  expect(await it.sandboxes.create({ vcpu_count: 4, mem_size_mib: 256 }, signal)).toMatchObject({
    vcpuCount: 4,
  });
  await expect(it.sandboxes.create({ vcpu_count: 5 }, signal)).rejects.toThrow(
    'vcpu_count: takes 1 to 4, got 5',
  );
  await expect(it.sandboxes.create({ mem_size_mib: 257 }, signal)).rejects.toThrow(
    'mem_size_mib: takes 64 to 256',
  );
});

test('tags filter, and all must match', async () => {
  await using it = await setUp();
  const { id } = await it.sandboxes.create({ tags: { team: 'a', stage: 'dev' } }, signal);
  await it.sandboxes.create({ tags: { team: 'a' } }, signal);
  const idsOf = (...tags: [string, string][]) => it.sandboxes.list(tags).map((sandbox) => sandbox.id);
  expect(idsOf()).toHaveLength(2);
  expect(idsOf(['team', 'a'])).toHaveLength(2);
  expect(idsOf(['team', 'a'], ['stage', 'dev'])).toEqual([id]);
  expect(idsOf(['team', 'a'], ['team', 'b'])).toEqual([]);
  expect(idsOf(['constructor', 'x'])).toEqual([]);
});

test('a create that fails at its agent leaves nothing, not even its name', async () => {
  await using it = await setUp();
  vi.spyOn(it.agent, 'attach').mockRejectedValueOnce(new Error('no answer'));
  await expect(it.sandboxes.create({ name: 'web' }, signal)).rejects.toThrow(codeOf('BOOT_FAILED'));
  expect(await it.leftovers()).toEqual([]);
  await it.sandboxes.create({ name: 'web' }, signal);
});

test('a create whose machine ends says how, also when the line to its agent breaks first', async () => {
  await using it = await setUp();
  vi.spyOn(it.agent, 'attach').mockImplementationOnce(() => {
    setTimeout(() => [...it.vmm.machines.values()][0]?.crash('its guest shut down'), 20);
    return Promise.reject(new Error('read ECONNRESET'));
  });
  await expect(it.sandboxes.create({}, signal)).rejects.toThrow('its guest shut down before its agent');
  expect(await it.leftovers()).toEqual([]);
});

test('a create whose client goes away is undone', async () => {
  await using it = await setUp();
  const client = new AbortController();
  vi.spyOn(it.agent, 'attach').mockImplementationOnce(async (_socket, deadline) => {
    client.abort(new Error('the client went away'));
    await sleep(1);
    deadline.signal.throwIfAborted();
    throw new Error('unreachable');
  });
  await expect(it.sandboxes.create({}, client.signal)).rejects.toThrow('the client went away');
  expect(await it.leftovers()).toEqual([]);
});

test('a destroyed sandbox leaves nothing', async () => {
  await using it = await setUp();
  await it.sandboxes.create({ name: 'web' }, signal);
  await it.sandboxes.destroy('web');
  expect(await it.leftovers()).toEqual([]);
  await expect(it.sandboxes.destroy('web')).rejects.toThrow(codeOf('NOT_FOUND'));
  expect(it.metrics.active).toBe(0);
});

test('a machine that ends by itself is cleared up, and the next call learns why', async () => {
  await using it = await setUp();
  const guests = new Guests(it.registry, new Activity());
  const { id } = await it.sandboxes.create({}, signal);
  const [machine] = it.vmm.machines.values();
  machine?.crash('its guest shut down');
  await expect.poll(() => it.leftovers()).toEqual([]);
  expect(it.sandboxes.list([])).toEqual([]);
  await expect(guests.reach(id, (agent) => agent.health(signal))).rejects.toThrow('its guest shut down');
  await it.sandboxes.destroy(id);
  await expect(guests.reach(id, (agent) => agent.health(signal))).rejects.toThrow(codeOf('NOT_FOUND'));
});

test('a shutdown gives up creates, ends sandboxes, and leaves nothing', async () => {
  await using it = await setUp();
  await it.sandboxes.create({}, signal);
  vi.spyOn(it.agent, 'attach').mockImplementationOnce((_socket, deadline) =>
    deadline.race(new Promise(() => undefined)),
  );
  const hanging = it.sandboxes.create({}, signal);
  const outcome = expect(hanging).rejects.toThrow(codeOf('SHUTTING_DOWN'));
  await expect.poll(() => it.agent.attach).toHaveBeenCalled();
  await it.sandboxes.shutdown();
  await outcome;
  expect(await it.leftovers()).toEqual([]);
  await expect(it.sandboxes.create({}, signal)).rejects.toThrow(codeOf('SHUTTING_DOWN'));
});

test('a policy is in force while its sandbox lives', async () => {
  await using it = await setUp();
  const egress = { mode: 'deny_all' as const, allow_cidrs: ['10.0.0.0/8'] };
  const { id } = await it.sandboxes.create({ egress }, signal);
  const policy = { mode: 'deny_all', allowCidrs: ['10.0.0.0/8'], denyCidrs: [] };
  expect([...it.network.rules.values()]).toEqual([{ egress: policy, rateLimit: undefined }]);
  expect(it.sandboxes.get(id).egress).toEqual(policy);
  const [session] = it.agent.sessions.values();
  expect(session?.identity.network).toMatchObject({ address: '198.51.100.2', gateway: '198.51.100.1' });
  await it.sandboxes.destroy(id);
  expect([...it.network.rules]).toEqual([]);
});

test('without a free network device a create is refused at once and leaves nothing; a freed one serves the next', async () => {
  await using it = await setUp();
  const made = await Promise.all(Array.from({ length: 4 }, () => it.sandboxes.create({}, signal)));
  await expect(it.sandboxes.create({ name: 'web' }, signal)).rejects.toThrow(
    codeOf('NETWORK_POOL_EXHAUSTED'),
  );
  expect(it.vmm.machines.size).toBe(4);
  await it.sandboxes.destroy(made[0]?.id ?? '');
  await it.sandboxes.create({ name: 'web' }, signal);
});

test('the history has every sandbox that lived, however it ended, and none that did not', async () => {
  await using it = await setUp();
  const reasons = () =>
    it.sandboxes.past({ liveOnly: false, limit: 9 }).map(({ name, end }) => [name, end?.reason]);
  await it.sandboxes.create({ name: 'a' }, signal);
  await it.sandboxes.create({ name: 'b' }, signal);
  vi.spyOn(it.agent, 'attach').mockRejectedValueOnce(new Error('no answer'));
  await expect(it.sandboxes.create({ name: 'c' }, signal)).rejects.toThrow();
  await it.sandboxes.destroy('a');
  expect(reasons()).toEqual([
    ['b', undefined],
    ['a', 'destroyed'],
  ]);
  [...it.vmm.machines.values()].at(-1)?.crash('its guest shut down');
  await expect.poll(() => reasons()[0]).toEqual(['b', 'destroyed']);
});

test('a sandbox that cannot be written down is ended again', async () => {
  await using it = await setUp();
  const began = vi.spyOn(it.history, 'began').mockImplementation(() => {
    throw new Error('disk full');
  });
  await expect(it.sandboxes.create({ name: 'web' }, signal)).rejects.toThrow('disk full');
  expect(await it.leftovers()).toEqual([]);
  began.mockRestore();
  await it.sandboxes.create({ name: 'web' }, signal);
});

test('an image is found before a boot, and held from then until nothing of the sandbox is left', async () => {
  await using it = await setUp();
  it.imageStore.host.set('/alpine.ext4', 2 ** 25);
  await expect(it.sandboxes.create({ image_id: 'alpine' }, signal)).rejects.toThrow(
    'image not found: alpine',
  );
  await it.images.register({ id: 'alpine', path: '/alpine.ext4' }, signal);
  const creating = it.sandboxes.create({ image_id: 'alpine' }, signal);
  await expect(it.images.remove('alpine')).rejects.toThrow(codeOf('IMAGE_IN_USE'));
  const { id } = await creating;
  expect(it.images.list()).toMatchObject([{ id: 'alpine', heldBy: [`sandbox ${id}`] }]);
  await expect(it.images.remove('alpine')).rejects.toThrow(`image alpine is in use by sandbox ${id}`);
  await it.sandboxes.destroy(id);
  await it.images.remove('alpine');
  expect(it.images.list()).toEqual([]);
  await expect(it.sandboxes.create({ image_id: 'alpine' }, signal)).rejects.toThrow(codeOf('NOT_FOUND'));
});

test('an image id is taken while its copy is under way, and afterwards', async () => {
  await using it = await setUp();
  it.imageStore.host.set('/a', 2 ** 25);
  const coming = it.images.register({ id: 'a', path: '/a' }, signal);
  await expect(it.images.register({ id: 'a', path: '/a' }, signal)).rejects.toThrow(codeOf('IMAGE_ID_TAKEN'));
  await coming;
  await expect(it.images.register({ id: 'a', path: '/a' }, signal)).rejects.toThrow(codeOf('IMAGE_ID_TAKEN'));
  await expect(it.images.register({ id: 'b', path: '/b' }, signal)).rejects.toThrow(
    codeOf('IMAGE_SOURCE_MISSING'),
  );
});

describe('drives', () => {
  const RO = { readOnly: true };
  const RW = { readOnly: false };
  it.each([
    { holders: [], request: RO, free: true },
    { holders: [], request: RW, free: true },
    { holders: [RO], request: RO, free: true },
    { holders: [RO, RO], request: RO, free: true },
    { holders: [RO], request: RW, free: false },
    { holders: [RW], request: RO, free: false },
    { holders: [RW], request: RW, free: false },
  ])('held by $holders: $request may attach: $free', async ({ holders, request, free }) => {
    await using it = await setUp();
    const { id } = await it.drives.create({ size_mib: 8 }, signal);
    const ids: string[] = [];
    for (const { readOnly } of holders)
      ids.push((await it.sandboxes.create({ drives: [{ id, read_only: readOnly }] }, signal)).id);
    const attach = it.sandboxes.create({ drives: [{ id, read_only: request.readOnly }] }, signal);
    if (free) await attach;
    else {
      await expect(attach).rejects.toThrow(codeOf('DRIVE_CONFLICT'));
      await expect(attach).rejects.toThrow(`sandbox ${ids[0]}`);
      await expect(attach).rejects.toThrow('a read-write attachment needs exclusive access');
    }
    if (ids.length > 0 || free) await expect(it.drives.remove(id)).rejects.toThrow(codeOf('DRIVE_IN_USE'));
    for (const { id: sandboxId } of it.sandboxes.list([])) await it.sandboxes.destroy(sandboxId);
    expect(it.drives.list()).toMatchObject([{ id, heldBy: [] }]);
    await it.drives.remove(id);
  });

  it('are held from the start of a boot, written out before its end, and free when it fails', async () => {
    await using it = await setUp();
    const { id } = await it.drives.create({ size_mib: 8 }, signal);
    const drives = [{ id }];
    const first = it.sandboxes.create({ drives, rate_limit: { ops_per_sec: 1 } }, signal);
    await expect(it.sandboxes.create({ drives }, signal)).rejects.toThrow(codeOf('DRIVE_CONFLICT'));
    const { id: sandboxId } = await first;
    const [ended] = [...it.vmm.machines.values()];
    await it.sandboxes.destroy(sandboxId);
    const [session] = [...it.agent.sessions.values()];
    expect(session?.drives).toMatchObject([
      { id, readOnly: false, serial: id.replaceAll('-', '').slice(0, 20) },
    ]);
    expect(session?.frozen).toBe(true);
    expect(ended?.limitsLifted).toBe(true);
    vi.spyOn(it.agent, 'attach').mockRejectedValueOnce(new Error('no answer'));
    await expect(it.sandboxes.create({ drives }, signal)).rejects.toThrow(codeOf('BOOT_FAILED'));
    await it.sandboxes.create({ drives }, signal);
  });

  it('that need recovery are refused to readers, and those that are not there, or twice, to all', async () => {
    await using it = await setUp();
    const { id } = await it.drives.create({ size_mib: 8 }, signal);
    it.driveStore.cutOff.add(id);
    const create = (...drives: { id: string; read_only?: boolean }[]) =>
      it.sandboxes.create({ drives }, signal);
    await expect(create({ id, read_only: true })).rejects.toThrow(codeOf('DRIVE_NEEDS_RECOVERY'));
    await expect(create({ id }, { id })).rejects.toThrow(codeOf('INVALID_REQUEST'));
    await expect(create({ id }, { id: 'none' })).rejects.toThrow('drive not found: none');
    expect(await it.leftovers()).toEqual([]);
    await create({ id });
  });
});

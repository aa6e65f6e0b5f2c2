import { expect, test } from 'vitest';
import { FakeNetwork } from '../testing/fake-network.ts';
import { FakeMachine } from '../testing/fake-vmm.ts';
import { FakeSession } from '../testing/fake-agent.ts';
import { Registry } from './registry.ts';
import type { Running, Sandbox } from './sandbox.ts';

function sandbox(id: string, name?: string): Sandbox {
  return {
    id,
    name,
    tags: {},
    createdAtUnix: 0,
    vcpuCount: 1,
    memSizeMib: 64,
    egress: undefined,
    imageId: undefined,
    rateLimit: undefined,
    drives: [],
    parentSnapshotId: undefined,
    isFork: false,
    jailed: false,
  };
}

function running(): Running {
  return {
    machine: new FakeMachine(1, ''),
    agent: new FakeSession(),
    lease: new FakeNetwork(1).lease(),
    sharesMemory: false,
    mounts: new Map(),
    resources: new AsyncDisposableStack(),
  };
}

function liveOne(registry: Registry, id: string, name?: string): void {
  registry.reserve(sandbox(id, name));
  registry.goLive(id, running());
}

const codeOf = (code: string) => expect.objectContaining({ code }) as Error;

test('a name has one holder, from its start to the end of its clean-up', () => {
  const registry = new Registry();
  registry.reserve(sandbox('a', 'web'));
  expect(() => registry.reserve(sandbox('b', 'web'))).toThrow(codeOf('NAME_TAKEN'));
  registry.goLive('a', running());
  expect(() => registry.reserve(sandbox('b', 'web'))).toThrow(codeOf('NAME_TAKEN'));
  registry.beginStop('web');
  expect(() => registry.reserve(sandbox('b', 'web'))).toThrow(codeOf('NAME_TAKEN'));
  registry.forget('a');
  registry.reserve(sandbox('b', 'web'));
});

test('a held snapshot keeps its name from everyone but what comes out of it', () => {
  const registry = new Registry();
  registry.keepName('web', 's');
  expect(() => registry.reserve(sandbox('a', 'web'))).toThrow('name already taken: web (held by snapshot s)');
  registry.reserve({ ...sandbox('b', 'web'), parentSnapshotId: 's' });
  registry.forget('b');
  registry.dropName('web', 'another');
  expect(registry.nameHolder('web', undefined)).toBe('snapshot s');
  registry.dropName('web', 's');
  registry.reserve(sandbox('a', 'web'));
});

test('a sandbox that is being snapshotted says so, and goes on or ends', () => {
  const registry = new Registry();
  liveOne(registry, 'a');
  const { running: held } = registry.beginSnapshot('a');
  expect(() => registry.live('a', 'be reached')).toThrow('is snapshotting');
  expect(() => registry.beginStop('a')).toThrow(codeOf('ILLEGAL_STATE'));
  registry.goLive('a', held);
  registry.beginSnapshot('a');
  registry.endSnapshot('a');
  expect(() => registry.live('a', 'be reached')).toThrow(codeOf('NOT_FOUND'));
  registry.forget('a');
});

test('only a live sandbox is listed and reached; one that starts says so, one that stops is gone', () => {
  const registry = new Registry();
  registry.reserve(sandbox('a', 'web'));
  expect(registry.list()).toEqual([]);
  expect(() => registry.live('web', 'be reached')).toThrow(codeOf('ILLEGAL_STATE'));
  registry.goLive('a', running());
  expect(registry.live('web', 'be reached').sandbox.id).toBe('a');
  expect(registry.list()).toHaveLength(1);
  registry.beginStop('a');
  expect(registry.list()).toEqual([]);
  expect(() => registry.live('a', 'be reached')).toThrow(codeOf('NOT_FOUND'));
  expect(() => registry.beginStop('a')).toThrow(codeOf('NOT_FOUND'));
});

test('a sandbox whose machine ended leaves the list, says why, and frees its name', () => {
  const registry = new Registry();
  liveOne(registry, 'a', 'web');
  expect(registry.lose('a', 'its guest shut down')?.sandbox.id).toBe('a');
  expect(registry.lose('a', 'again')).toBeUndefined();
  expect(registry.list()).toEqual([]);
  expect(() => registry.live('web', 'be reached')).toThrow('its guest shut down');
  expect(registry.lostId('web')).toBe('a');
  liveOne(registry, 'b', 'web');
  expect(registry.live('web', 'be reached').sandbox.id).toBe('b');
  registry.forget('a');
  expect(registry.live('web', 'be reached').sandbox.id).toBe('b');
});

test('the oldest of many lost sandboxes are forgotten', () => {
  const registry = new Registry();
  for (let index = 0; index < 1001; index += 1) {
    liveOne(registry, `s${index}`);
    registry.lose(`s${index}`, 'gone');
  }
  expect(() => registry.live('s0', 'be reached')).toThrow(codeOf('NOT_FOUND'));
  expect(() => registry.live('s1', 'be reached')).toThrow(codeOf('SANDBOX_UNREACHABLE'));
});

test('an unknown step is refused', () => {
  const registry = new Registry();
  registry.reserve(sandbox('a'));
  registry.goLive('a', running());
  expect(() => registry.forget('a')).toThrow('no step leads from live to gone');
});

test('an address tells which live sandbox has it', () => {
  const registry = new Registry();
  registry.reserve(sandbox('a'));
  const live = running();
  registry.goLive('a', live);
  expect(registry.atAddress(live.lease.address)?.id).toBe('a');
  registry.beginStop('a');
  expect(registry.atAddress(live.lease.address)).toBeUndefined();
});

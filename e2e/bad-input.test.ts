import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Daemon } from './harness/daemon.ts';
import { expectFailure } from './harness/failure.ts';
import { childrenOf, machineDirs, machinePids } from './harness/host.ts';
import { createSandbox, listSandboxes } from './harness/sandbox.ts';
import type { Sandbox } from './harness/sandbox.ts';

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let sandbox: Sandbox;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start({ SERVICE_MAX_MEM_SIZE_MIB: '1024' }));
  sandbox = await createSandbox(daemon.client);
});

afterAll(async () => {
  try {
    // Nothing that was refused has left anything: there is the one sandbox of this file and no more.
    expect((await listSandboxes(daemon.client)).map(({ id }) => id)).toEqual([sandbox.id]);
    expect(await machineDirs(daemon.stateDir)).toEqual([sandbox.id]);
    expect(await machinePids(daemon.stateDir)).toHaveLength(1);
    expect(await childrenOf(daemon.pid)).toHaveLength(1);
    expect(await sandbox.sh('echo alive')).toBe('alive');
  } finally {
    await stack.disposeAsync();
  }
});

const UUID_NAME = '6f9619ff-8b86-4d01-b42d-00c04fc964ff';

/** A body, as JSON text, and what the message has to name. */
type Case = readonly [body: string, field: string];

describe('POST /sandboxes', () => {
  const cases: Case[] = [
    ['{"name": ""}', 'name'],
    [`{"name": "${'n'.repeat(65)}"}`, 'name'],
    ['{"name": "a b"}', 'name'],
    ['{"name": "a/b"}', 'name'],
    ['{"name": "a.b"}', 'name'],
    ['{"name": "nä"}', 'name'],
    ['{"name": "a\\n"}', 'name'],
    ['{"name": "a\\u0000"}', 'name'],
    [`{"name": "${UUID_NAME}"}`, 'name'],
    [`{"name": "${UUID_NAME.toUpperCase()}"}`, 'name'],
    ['{"name": 7}', 'name'],
    ['{"name": ["a"]}', 'name'],
    ...['0', '17', '-1', '1.5', '"2"', '1e400', 'true', '[]'].map((value): Case => [
      `{"vcpu_count": ${value}}`,
      'vcpu_count',
    ]),
    ...['0', '1025', '-1', '256.5', '"512"', '1', '9007199254740993'].map((value): Case => [
      `{"mem_size_mib": ${value}}`,
      'mem_size_mib',
    ]),
    ['{"tags": []}', 'tags'],
    ['{"tags": "a"}', 'tags'],
    ['{"tags": {"a": 1}}', 'tags.a'],
    ['{"tags": {"a": null}}', 'tags.a'],
    ['{"tags": {"a": {"b": "c"}}}', 'tags.a'],
    ['{"env": []}', 'env'],
    ['{"env": {"A": 1}}', 'env.A'],
    ['{"env": {"": "x"}}', 'env'],
    ['{"env": {"A=B": "x"}}', 'env'],
    ['{"env": {"A\\u0000": "x"}}', 'env'],
    ['{"env": {"A": "x\\u0000y"}}', 'env.A'],
    ['{"nmae": "x"}', 'nmae'],
    ['{"id": "x"}', 'id'],
    ['{"__proto__": {"name": "x"}}', '__proto__'],
    ['{"tags": {"__proto__": "x"}}', '__proto__'],
    ['{"constructor": {"prototype": {}}}', 'constructor'],
    ['{"name": "x"', 'body'],
    ['{"name": "x"} {}', 'body'],
    ["{'name': 'x'}", 'body'],
    ['name=x', 'body'],
    ['\0', 'body'],
    ['[]', 'body'],
    ['[{"name": "x"}]', 'body'],
    ['null', 'body'],
    ['"name"', 'body'],
    ['7', 'body'],
  ];
  it.each(cases)('refuses %j', async (body, field) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await daemon.client.call('POST', '/sandboxes', body, { headers });
    expectFailure(answer, 400, 'INVALID_REQUEST', field);
  });
});

describe('POST /sandboxes/:id/exec', () => {
  const cases: Case[] = [
    ['', 'command'],
    ['{}', 'command'],
    ['{"command": ""}', 'command'],
    ['{"command": null}', 'command'],
    ['{"command": 1}', 'command'],
    ['{"command": "a\\u0000b"}', 'command'],
    ['{"command": "true", "args": "x"}', 'args'],
    ['{"command": "true", "args": [1]}', 'args.0'],
    ['{"command": "true", "args": ["a", "b\\u0000"]}', 'args.1'],
    ['{"command": "true", "env": {"A=B": "x"}}', 'env'],
    ['{"command": "true", "env": {"A": "\\u0000"}}', 'env.A'],
    ['{"command": "true", "env": {"A": 1}}', 'env.A'],
    ['{"command": "true", "cwd": ""}', 'cwd'],
    ['{"command": "true", "cwd": "/\\u0000"}', 'cwd'],
    ['{"command": "true", "user": ""}', 'user'],
    ['{"command": "true", "user": 0}', 'user'],
    ['{"command": "true", "timeout_ms": 0}', 'timeout_ms'],
    ['{"command": "true", "timeout_ms": -1}', 'timeout_ms'],
    ['{"command": "true", "timeout_ms": 1.5}', 'timeout_ms'],
    ['{"command": "true", "timeout_ms": "9"}', 'timeout_ms'],
    ['{"command": "true", "timeout_ms": 1e300}', 'timeout_ms'],
    ['{"command": "true", "stdin_base64": "*"}', 'stdin_base64'],
    ['{"command": "true", "stdin_base64": "aGk"}x', 'body'],
    ['{"command": "true", "stdin_base64": "aGk=aGk="}', 'stdin_base64'],
    ['{"command": "true", "stdin_base64": "A"}', 'stdin_base64'],
    ['{"command": "true", "shell": true}', 'shell'],
  ];
  it.each(cases)('refuses %j', async (body, field) => {
    expectFailure(await sandbox.post('exec', body), 400, 'INVALID_REQUEST', field);
  });

  it('answers 400 for a user that the guest does not have', async () => {
    expectFailure(
      await sandbox.post('exec', { command: 'true', user: 'nobody-here' }),
      400,
      'EINVAL',
      'nobody-here',
    );
  });
});

describe('file routes', () => {
  const cases: (readonly [operation: string, body: string, field: string])[] = [
    ...['read-file', 'write-file', 'chmod', 'chown', 'mkdir', 'readlink', 'truncate', 'list-dir'].flatMap(
      (operation) => [
        [operation, '{}', 'path'] as const,
        [operation, '{"path": ""}', 'path'] as const,
        [operation, '{"path": 1}', 'path'] as const,
        [operation, '{"path": "/tmp/a\\u0000b"}', 'path'] as const,
        [operation, `{"path": "/${'p'.repeat(4096)}"}`, 'path'] as const,
      ],
    ),
    ...['rename', 'copy'].flatMap((operation) => [
      [operation, '{"to": "/a"}', 'from'] as const,
      [operation, '{"from": "/a"}', 'to'] as const,
      [operation, '{"from": "/a\\u0000", "to": "/b"}', 'from'] as const,
      [operation, '{"from": "/a", "to": "/b\\u0000"}', 'to'] as const,
    ]),
    ['symlink', '{"target": "/a"}', 'link_path'],
    ['symlink', '{"target": "/a\\u0000", "link_path": "/b"}', 'target'],
    ['symlink', '{"target": "/a", "link_path": "/b\\u0000"}', 'link_path'],
    ['write-file', '{"path": "/tmp/a"}', 'content_base64'],
    ['write-file', '{"path": "/tmp/a", "content_base64": "!!!!"}', 'content_base64'],
    ['write-file', '{"path": "/tmp/a", "content_base64": "AAAAA"}', 'content_base64'],
    ['write-file', '{"path": "/tmp/a", "content_base64": 1}', 'content_base64'],
    ['write-file', '{"path": "/tmp/a", "content_base64": "", "mode": 420}', 'mode'],
    ['chmod', '{"path": "/tmp/a", "mode": "644"}', 'mode'],
    ['chmod', '{"path": "/tmp/a", "mode": -1}', 'mode'],
    ['chmod', '{"path": "/tmp/a", "mode": 4096}', 'mode'],
    ['chown', '{"path": "/tmp/a", "uid": 0}', 'gid'],
    ['chown', '{"path": "/tmp/a", "uid": -1, "gid": 0}', 'uid'],
    ['chown', '{"path": "/tmp/a", "uid": 0, "gid": 4294967296}', 'gid'],
    ['mkdir', '{"path": "/tmp/a", "parents": "yes"}', 'parents'],
    ['truncate', '{"path": "/tmp/a", "size": -1}', 'size'],
    ['truncate', '{"path": "/tmp/a", "size": 1.5}', 'size'],
    ['truncate', '{"path": "/tmp/a"}', 'size'],
  ];
  it.each(cases)('%s refuses %j', async (operation, body, field) => {
    expectFailure(await sandbox.post(operation, body), 400, 'INVALID_REQUEST', field);
  });

  it.each(['GET', 'PUT'])('%s /sandboxes/:id/files refuses a bad query', async (method) => {
    const path = `${sandbox.path}/files`;
    for (const query of ['', '?path=', '?path=%2Ftmp%2Fa%00b', '?path=/a&path=/b', '?path=/a&mode=420']) {
      const answer = await daemon.client.call(method, path + query, method === 'PUT' ? 'content' : undefined);
      expectFailure(answer, 400, 'INVALID_REQUEST', query.includes('mode') ? 'mode' : 'path');
    }
  });
});

describe('queries', () => {
  it.each([
    ['GET', '/sandboxes?bogus=1', 'bogus'],
    ['GET', '/sandboxes?tag=a', 'tag'],
    ['GET', '/sandboxes?tag.=a', 'tag.'],
    ['GET', '/sandboxes?__proto__=a', '__proto__'],
    ['DELETE', '/sandboxes/ID?keep=maybe', 'keep'],
    ['DELETE', '/sandboxes/ID?keep=', 'keep'],
    ['DELETE', '/sandboxes/ID?keep=false&keep=true', 'keep'],
    ['DELETE', '/sandboxes/ID?keep=false&force=1', 'force'],
  ])('%s %s', async (method, path, field) => {
    const answer = await daemon.client.call(method, path.replace('ID', sandbox.id));
    expectFailure(answer, 400, 'INVALID_REQUEST', field);
  });
});

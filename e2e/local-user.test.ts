import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Client } from './harness/client.ts';
import { Daemon } from './harness/daemon.ts';
import { allCommandLines, machinePid } from './harness/host.ts';
import { createSandbox } from './harness/sandbox.ts';
import type { Sandbox } from './harness/sandbox.ts';
import { takeSnapshot } from './harness/snapshot.ts';

const execute = promisify(execFile);
const TOKEN = 'token-that-nobody-else-knows';
const SECRET = 'secret-of-the-sandbox';

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let client: Client;
let sandbox: Sandbox;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start({ SERVICE_AUTH_TOKEN: TOKEN }));
  client = new Client(daemon.url, TOKEN);
  const SIZE = { mem_size_mib: 128, vcpu_count: 1 };
  const held = await takeSnapshot(client, (await createSandbox(client, SIZE)).id);
  stack.defer(async () => {
    await client.call('DELETE', `/snapshots/${held}`);
  });
  sandbox = stack.use(await createSandbox(client, { ...SIZE, env: { SECRET } }));
});
afterAll(() => stack.disposeAsync());

/** What a program prints that the user `nobody` runs; undefined when it fails. */
async function asNobody(...command: string[]): Promise<string | undefined> {
  const become = [
    '--reuid=65534',
    '--regid=65534',
    '--clear-groups',
    '--inh-caps=-all',
    '--bounding-set=-all',
    '--',
  ];
  return execute('setpriv', [...become, ...command]).then(
    ({ stdout }) => stdout,
    () => undefined,
  );
}

it('reads nothing of the state: no memory, disk, socket, snapshot, nor the history', async () => {
  // The test would notice: the directory around it is open, and there is much to see.
  expect(await asNobody('ls', join(daemon.stateDir, '..'))).toContain('atoll-e2e-');
  const names = await readdir(daemon.stateDir, { recursive: true });
  for (const kind of [
    /root\.qcow2$/,
    /agent\.sock$/,
    /qmp\.sock$/,
    /manifest\.json$/,
    /history\.db$/,
    /memory$/,
  ])
    expect(
      names.some((name) => kind.test(name)),
      String(kind),
    ).toBe(true);
  for (const name of ['', ...names]) {
    const path = join(daemon.stateDir, name);
    expect(await asNobody('test', '-r', path), path).toBeUndefined();
    expect(await asNobody('test', '-w', path), path).toBeUndefined();
  }
});

it('sees neither the token nor a sandbox’s env in the processes', async () => {
  const vm = await machinePid(daemon.stateDir, sandbox.id);
  for (const pid of [daemon.pid, vm]) {
    for (const file of ['environ', 'mem', 'maps', 'fd']) {
      const path = `/proc/${pid}/${file}`;
      expect((await asNobody('head', '-c', '1', path)) ?? '', path).toBe('');
      expect((await asNobody('ls', `/proc/${pid}/fd`)) ?? '').toBe('');
    }
  }
  const shown = await allCommandLines();
  expect(shown).toContain(sandbox.id);
  expect(shown).not.toContain(TOKEN);
  expect(shown).not.toContain(SECRET);
});

it('ends no process, and is asked for the token like everybody else', async () => {
  const vm = await machinePid(daemon.stateDir, sandbox.id);
  for (const pid of [daemon.pid, vm]) expect(await asNobody('kill', '-0', String(pid))).toBeUndefined();
  const asked = await asNobody(
    'curl',
    '-s',
    '-o',
    '/dev/null',
    '-w',
    '%{http_code}',
    `${daemon.url}/sandboxes`,
  );
  expect(asked).toBe('401');
});

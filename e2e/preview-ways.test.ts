import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Client } from './harness/client.ts';
import { Daemon } from './harness/daemon.ts';
import { until } from './harness/poll.ts';
import { addressOf, createSandbox, Sandbox } from './harness/sandbox.ts';
import { takeSnapshot } from './harness/snapshot.ts';

const execute = promisify(execFile);
const OVER_THE_CARD = '10.213.0.1';
const BY_THE_AGENT = '127.0.0.1';
const SOON_MS = 60_000;
// Longer than an idle connection is kept.
const LET_GO_MS = 5000;

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let client: Client;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start());
  ({ client } = daemon);
});
afterAll(() => stack.disposeAsync());

/** Whom a server inside a sandbox sees as who asks. */
async function peer({ path }: Sandbox, port: number, method = 'GET', body?: string): Promise<string> {
  const answer = await client.call(method, `${path}/preview/${port}/from`, body);
  return answer.status === 200 ? answer.text : `${answer.status} ${answer.text}`;
}

/** Starts a server in a sandbox and waits until it answers. */
async function serve(sandbox: Sandbox, address: string, port: number): Promise<void> {
  const script = await readFile(new URL('guests/server.py', import.meta.url));
  await client.call('PUT', `${sandbox.path}/files?path=/tmp/server.py`, new Uint8Array(script));
  await sandbox.post('exec-stream', { command: 'python3', args: ['/tmp/server.py', address, String(port)] });
  await isUp(sandbox, port);
}

/** Waits for a server without asking it: one that is asked just as it begins may be asked the other way for a while. */
async function isUp(sandbox: Sandbox, port: number): Promise<void> {
  const listens = async () => (await sandbox.sh('ss -tnl')).includes(`:${port} `);
  await until('the server listens', listens, SOON_MS);
}

const letGo = () => new Promise((resolve) => setTimeout(resolve, LET_GO_MS));

it('goes over the card where the server listens there, with a body or without, and else by the agent', async () => {
  await using sandbox = await createSandbox(client);
  for (const [address, port, way] of [
    ['0.0.0.0', 8001, OVER_THE_CARD],
    ['127.0.0.1', 8002, BY_THE_AGENT],
    ['::1', 8003, '::1'],
    [await addressOf(sandbox), 8004, OVER_THE_CARD],
  ] as const) {
    await serve(sandbox, address, port);
    expect([address, await peer(sandbox, port), await peer(sandbox, port, 'POST', 'text')]).toEqual([
      address,
      way,
      way,
    ]);
  }
});

it('goes by the agent where the guest’s card lets nothing in, and over it again when it does', async () => {
  await using sandbox = await createSandbox(client);
  await serve(sandbox, '0.0.0.0', 8001);
  expect(await peer(sandbox, 8001)).toBe(OVER_THE_CARD);
  await letGo();
  await sandbox.sh('ip link set eth0 down');
  expect(await peer(sandbox, 8001)).toBe(BY_THE_AGENT);
  expect(await peer(sandbox, 8001, 'POST', 'text')).toBe(BY_THE_AGENT);
  await sandbox.sh('ip link set eth0 up');
  await letGo();
  await until(
    'the card is used',
    async () => (await peer(sandbox, 8001, 'POST', '')) === OVER_THE_CARD,
    SOON_MS,
  );
});

it('goes by the agent where the sandbox has limits', async () => {
  await using sandbox = await createSandbox(client, { rate_limit: { ops_per_sec: 5000 } });
  await serve(sandbox, '0.0.0.0', 8001);
  expect(await peer(sandbox, 8001)).toBe(BY_THE_AGENT);
});

it('is the daemon’s alone: nobody else on the host reaches the server', async () => {
  await using sandbox = await createSandbox(client);
  await serve(sandbox, '0.0.0.0', 8001);
  const url = `http://${await addressOf(sandbox)}:8001/from`;
  for (const user of [0, 65_534]) {
    const curl = ['setpriv', `--reuid=${user}`, '--clear-groups', '--', 'curl', '-s', '-m', '2', url];
    await expect(execute('env', curl)).rejects.toMatchObject({ code: 28 });
  }
  expect(await peer(sandbox, 8001)).toBe(OVER_THE_CARD);
});

it.each(['suspended', 'suspended while it answers'])(
  'leaves a server that serves one at a time nothing to wait for, %s',
  async (when) => {
    const before = await createSandbox(client);
    await before.post('exec-stream', { command: 'python3', args: ['-c', ONE_AT_A_TIME] });
    await isUp(before, 8001);
    expect(await peer(before, 8001)).toBe(OVER_THE_CARD);
    const asked =
      when === 'suspended'
        ? undefined
        : client.call('GET', `${before.path}/preview/8001/slow`).catch(() => undefined);
    if (asked !== undefined) await until('it is asked', () => isThere(before, '/tmp/asked'), SOON_MS);
    const snapshot = await takeSnapshot(client, before.id);
    await asked;
    const resumed = await client.call('POST', `/snapshots/${snapshot}/resume`);
    await using after = new Sandbox(client, (resumed.json as { id: string }).id);
    expect(await peer(after, 8001)).toBe(OVER_THE_CARD);
  },
);

async function isThere(sandbox: Sandbox, path: string): Promise<boolean> {
  return (await sandbox.exec('test', ['-e', path])).exit_code === 0;
}

/** A server that waits on each connection until it is over; says who asks, and to `/slow` a megabyte a second without end. */
const ONE_AT_A_TIME = `
import socket, time
server = socket.create_server(("0.0.0.0", 8001))
while True:
    connection, peer = server.accept()
    said = peer[0].encode()
    answer = b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (len(said), said)
    try:
        while asked := connection.recv(65536):
            if b"/slow" in asked:
                open("/tmp/asked", "w").close()
                connection.sendall(b"HTTP/1.1 200 OK\\r\\n\\r\\n")
                while True:
                    connection.sendall(bytes(100000))
                    time.sleep(0.1)
            connection.sendall(answer)
    except OSError:
        pass
    connection.close()
`;

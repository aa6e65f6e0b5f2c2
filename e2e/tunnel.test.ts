import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo, Socket as TcpSocket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Daemon } from './harness/daemon.ts';
import { expectFailure, expectNoContent } from './harness/failure.ts';
import { transferSize } from './harness/large.ts';
import { timed, until, within } from './harness/poll.ts';
import { Postgres, psqlBundle } from './harness/postgres.ts';
import { createSandbox } from './harness/sandbox.ts';
import type { Sandbox } from './harness/sandbox.ts';
import { handshakeStatus, Socket } from './harness/socket.ts';
import { TunnelCaller } from './harness/tunnel-caller.ts';

const SOON_MS = 30_000;
const CONNECTIONS = 50;
const MIB_EACH = transferSize({ full: 20, usual: 5 });
const MANY_MS = 200_000;

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let sandbox: Sandbox;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start());
  sandbox = await createSandbox(daemon.client);
  await upload('/tmp/client.py', await readFile(new URL('guests/tunnel-client.py', import.meta.url)));
});

afterAll(() => stack.disposeAsync());

async function upload(path: string, content: Buffer): Promise<void> {
  expectNoContent(
    await daemon.client.call('PUT', `${sandbox.path}/files?path=${path}`, new Uint8Array(content)),
  );
}

async function create(guestPort: number, box = sandbox): Promise<string> {
  const answer = await box.post('tunnel', { guest_port: guestPort });
  expect(answer.status, answer.text).toBe(200);
  const tunnel = answer.json as { tunnel_id: string };
  expect(tunnel).toEqual({ tunnel_id: tunnel.tunnel_id, guest_port: guestPort });
  return tunnel.tunnel_id;
}

const wsPath = (id: string, box = sandbox) => `${box.path}/tunnel/${id}/ws`;
const attach = (id: string, box = sandbox) => Socket.open(daemon.url, wsPath(id, box), { raw: true });

/** Serves connections on the caller's side, on a port of its own. */
async function serve(handle: (connection: TcpSocket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (connection) => {
    connection.on('error', () => undefined);
    handle(connection);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const python = (script: string) => sandbox.exec('python3', ['-c', script], { timeout_ms: SOON_MS });

describe('a tunnel', () => {
  it('lets psql in the guest query a PostgreSQL of the caller', async () => {
    await using postgres = await Postgres.start(15_432);
    await upload('/tmp/psql.tar', await psqlBundle());
    await sandbox.sh('mkdir -p /opt/psql && tar -xf /tmp/psql.tar -C /opt/psql && rm /tmp/psql.tar');
    using socket = await attach(await create(5432));
    new TunnelCaller(socket, postgres.port);
    const psql = (sql: string) =>
      sandbox.sh(
        `LD_LIBRARY_PATH=/opt/psql /opt/psql/psql -h 127.0.0.1 -U tester -d postgres -qAt -c "${sql}"`,
      );
    expect(await psql('SHOW port')).toBe(String(postgres.port));
    await psql('CREATE TABLE numbers AS SELECT generate_series(1, 100000) AS n');
    expect(await psql('SELECT count(*), sum(n) FROM numbers')).toBe('100000|5000050000');
    const rows = await psql("SELECT n || repeat('x', 100) FROM numbers ORDER BY n");
    expect(rows.split('\n')).toHaveLength(100_000);
  });

  it(
    `carries ${CONNECTIONS} connections at once, with ${MIB_EACH} MiB each, whole both ways`,
    { timeout: MANY_MS },
    async () => {
      const content = randomBytes(1024 * 1024);
      const digests: string[] = [];
      const port = await serve((connection) => void converse(connection, content, digests));
      using socket = await attach(await create(7001));
      new TunnelCaller(socket, port);
      const args = ['/tmp/client.py', '7001', String(CONNECTIONS), String(MIB_EACH)];
      const { stdout, stderr } = await sandbox.exec('python3', args);
      expect(stderr).toBe('');
      const results = JSON.parse(stdout) as { size: number; ours: string; theirs: string }[];
      expect(results).toHaveLength(CONNECTIONS);
      for (const { size, ours, theirs } of results)
        expect({ size, ours }).toEqual({ size: MIB_EACH * 1024 * 1024, ours: theirs });
      const hash = createHash('md5');
      for (let at = 0; at < MIB_EACH; at++) hash.update(content);
      expect(digests).toEqual(Array.from({ length: CONNECTIONS / 2 }, () => hash.copy().digest('hex')));
    },
  );

  it('does not let a connection that nobody reads hold up another', async () => {
    const port = await serve((connection) => {
      connection.once('data', (name: Buffer) => {
        if (name.toString() === 'slow') connection.write(Buffer.alloc(3_000_000));
        else connection.end(`hello ${name.toString()}`);
      });
    });
    using socket = await attach(await create(7002));
    new TunnelCaller(socket, port);
    const { stdout } = await python(`
import socket
slow = socket.create_connection(("127.0.0.1", 7002)); slow.sendall(b"slow")
for at in range(20):
    with socket.create_connection(("127.0.0.1", 7002)) as quick:
        quick.sendall(b"%d" % at); print(quick.makefile().read())
left = 3000000
while left: left -= len(slow.recv(65536))
print("and the slow one")`);
    expect(stdout).toBe(
      `${Array.from({ length: 20 }, (_, at) => `hello ${at}\n`).join('')}and the slow one\n`,
    );
  });

  it('waits for a caller that comes a moment later', async () => {
    const port = await serve((connection) => connection.end('here'));
    const id = await create(7003);
    const early = python(
      'import socket; print(socket.create_connection(("127.0.0.1", 7003)).makefile().read())',
    );
    await until(
      'it is connected',
      async () => (await sandbox.sh('ss -tn state established')).includes(':7003'),
      SOON_MS,
    );
    using socket = await attach(id);
    new TunnelCaller(socket, port);
    expect((await early).stdout).toBe('here\n');
  });
});

describe('the end', () => {
  const waiting = (port: number) =>
    python(`
import socket
connection = socket.create_connection(("127.0.0.1", ${port}))
try: print("end" if connection.recv(1) == b"" else "data")
except ConnectionError: print("reset")
try: socket.create_connection(("127.0.0.1", ${port}))
except ConnectionRefusedError: print("refused")`);

  it('of the caller is seen by the guest at once, and the port is free', async () => {
    const port = await serve(() => undefined);
    const id = await create(7010);
    const socket = await attach(id);
    const caller = new TunnelCaller(socket, port);
    const guest = waiting(7010);
    await until('it is connected', () => caller.connections.size === 1, SOON_MS);
    socket[Symbol.dispose]();
    const { value, ms } = await timed(guest);
    expect(value.stdout).toBe('reset\nrefused\n');
    expect(ms).toBeLessThan(5000);
    expect(await handshakeStatus(daemon.url, wsPath(id))).toBe(409);
    await create(7010);
  });

  it.each([
    ['its path', (id: string) => `/tunnel/${id}`],
    ['its query', (id: string) => `/tunnel?tunnel_id=${id}`],
  ])('by DELETE with the id in %s is told to both', async (_where, path) => {
    const id = await create(7011);
    using socket = await attach(id);
    const caller = new TunnelCaller(socket, await serve(() => undefined));
    const guest = waiting(7011);
    await until('it is connected', () => caller.connections.size === 1, SOON_MS);
    expectNoContent(await daemon.client.call('DELETE', sandbox.path + path(id)));
    expect((await guest).stdout).toBe('reset\nrefused\n');
    expect(await within('it closes', socket.closed, SOON_MS)).toEqual({
      code: 1000,
      reason: 'the tunnel was deleted',
    });
    expectFailure(await daemon.client.call('DELETE', sandbox.path + path(id)), 404, 'NOT_FOUND', id);
  });

  it('of one connection leaves the others; a reset passes both ways', async () => {
    const ends: string[] = [];
    const port = await serve((connection) => {
      connection.on('error', (error: NodeJS.ErrnoException) => ends.push(error.code ?? ''));
      connection.once('data', (text: Buffer) => {
        if (text.toString() === 'reset me') connection.resetAndDestroy();
      });
    });
    using socket = await attach(await create(7012));
    const caller = new TunnelCaller(socket, port);
    const { stdout } = await python(`
import socket, struct
first = socket.create_connection(("127.0.0.1", 7012)); first.sendall(b"reset me")
try: first.recv(1)
except ConnectionResetError: print("reset by the caller")
second = socket.create_connection(("127.0.0.1", 7012)); second.sendall(b"hold")
second.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); second.close()`);
    expect(stdout).toBe('reset by the caller\n');
    await until('the caller sees the reset', () => ends.includes('ECONNRESET'), SOON_MS);
    await until('none is left', () => caller.connections.size === 0, SOON_MS);
  });

  it('of the sandbox is said to the caller', async () => {
    await using other = await createSandbox(daemon.client);
    using socket = await attach(await create(7013, other), other);
    expectNoContent(await other.destroy());
    expect(await within('it closes', socket.closed, SOON_MS)).toEqual({
      code: 1001,
      reason: 'sandbox destroyed',
    });
  });
});

it('is refused where it cannot be', async () => {
  await sandbox.post('exec-stream', {
    command: 'python3',
    args: ['-m', 'http.server', '7020', '--bind', '127.0.0.1'],
  });
  await until('a program has the port', async () => (await sandbox.sh('ss -tln')).includes(':7020'), SOON_MS);
  expectFailure(await sandbox.post('tunnel', { guest_port: 7020 }), 409, 'PORT_IN_USE', '7020');
  const id = await create(7021);
  expectFailure(await sandbox.post('tunnel', { guest_port: 7021 }), 409, 'PORT_IN_USE', '7021');
  for (const port of [0, -1, 65_536, 1.5, '80', null])
    expectFailure(await sandbox.post('tunnel', { guest_port: port }), 400, 'INVALID_REQUEST', 'guest_port');
  using _first = await attach(id);
  expect(await handshakeStatus(daemon.url, wsPath(id))).toBe(409);
  expect(await handshakeStatus(daemon.url, wsPath('none'))).toBe(404);
  expectFailure(await daemon.client.call('GET', wsPath(id)), 426, 'UPGRADE_REQUIRED');
});

/** What the caller's server does with one connection of the guest's client: it takes and says the digest, or sends. */
async function converse(connection: TcpSocket, content: Buffer, digests: string[]): Promise<void> {
  const hash = createHash('md5');
  let mode = '';
  const chunks = connection.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  for await (const chunk of chunks) {
    if (mode !== '') {
      hash.update(chunk);
      if (mode === 'down') digests.push(chunk.toString());
      continue;
    }
    mode = chunk.toString('latin1', 0, 8).trim();
    hash.update(chunk.subarray(8));
    if (mode === 'down') void sendAll(connection, content);
  }
  if (mode === 'up') connection.end(hash.digest('hex'));
}

async function sendAll(connection: TcpSocket, content: Buffer): Promise<void> {
  for (let at = 0; at < MIB_EACH; at++) if (!connection.write(content)) await once(connection, 'drain');
  connection.end();
}

import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket as TcpSocket } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer } from './guests/server.ts';
import { Client } from './harness/client.ts';
import { Daemon } from './harness/daemon.ts';
import { openFds } from './harness/host.ts';
import { until, within } from './harness/poll.ts';
import { sendRaw } from './harness/raw.ts';
import { createSandbox, Sandbox } from './harness/sandbox.ts';
import { handshakeStatus, Socket } from './harness/socket.ts';

const TOKEN = 'tok-71c2-streams-secret';
const SERVER_PORT = 8001;
const ROUNDS = 25;
const SOON_MS = 30_000;

const stack = new AsyncDisposableStack();
let daemon: Daemon;
let client: Client;
let sandbox: Sandbox;
let nextPort = 9000;

beforeAll(async () => {
  daemon = stack.use(await Daemon.start({ SERVICE_AUTH_TOKEN: TOKEN, SERVICE_LOG_LEVEL: 'trace' }));
  client = new Client(daemon.url, TOKEN);
  sandbox = await createSandbox(client);
  await startServer(client, sandbox, SERVER_PORT);
});

afterAll(() => stack.disposeAsync());

/** A path of each kind of socket, ready to be opened. */
const KINDS: (readonly [kind: string, path: () => Promise<string>])[] = [
  ['logs', () => logPath('cat')],
  ['pty', () => Promise.resolve(`${sandbox.path}/pty`)],
  ['tunnel', tunnelPath],
  ['preview', () => Promise.resolve(`${sandbox.path}/preview/${SERVER_PORT}/socket`)],
];

async function logPath(command: string): Promise<string> {
  const { json } = await sandbox.post('exec-stream', { command });
  return `${sandbox.path}/exec-stream/${(json as { id: string }).id}/logs`;
}

async function tunnelPath(): Promise<string> {
  const { json } = await sandbox.post('tunnel', { guest_port: nextPort++ });
  return `${sandbox.path}/tunnel/${(json as { tunnel_id: string }).tunnel_id}/ws`;
}

async function openStreams(kind: string): Promise<number> {
  const { text } = await client.call('GET', '/metrics');
  return Number(new RegExp(`^streams_open\\{kind="${kind}"\\} (\\d+)$`, 'm').exec(text)?.[1]);
}

it.each(KINDS)('a %s socket takes the token from the query, before the upgrade', async (_kind, path) => {
  const at = await path();
  expect(await handshakeStatus(daemon.url, at)).toBe(401);
  expect(await handshakeStatus(daemon.url, at, { token: 'wrong' })).toBe(401);
  expect(await handshakeStatus(daemon.url, at, { token: TOKEN })).toBe(101);
});

it.each(KINDS)('a %s socket lives through whatever it is sent', async (kind, path) => {
  const before = await openFds(daemon.pid);
  const open = await openStreams(kind);
  for (let round = 0; round < ROUNDS; round++) await disturb(await path(), round);
  daemon.assertRunning();
  await until('every stream is closed', async () => (await openStreams(kind)) <= open, SOON_MS);
  await until('every file is closed', async () => (await openFds(daemon.pid)) <= before + 5, SOON_MS);
  expect(await sandbox.sh('echo alive')).toBe('alive');
});

it('a handshake of another version is refused as what it is', async () => {
  const headers = ['Upgrade: websocket', 'Sec-WebSocket-Version: 7', `Authorization: Bearer ${TOKEN}`];
  const answer = await sendRaw(
    daemon.url,
    `GET ${sandbox.path}/pty HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n${headers.join('\r\n')}\r\n\r\n`,
  );
  expect(answer).toMatch(/^HTTP\/1.1 426 /);
  expect(answer).toContain('"code":"UPGRADE_REQUIRED"');
});

it('malformed frames are told with a code', async () => {
  using tunnel = await Socket.open(daemon.url, await tunnelPath(), { token: TOKEN });
  tunnel.ws.send(Buffer.from([1, 200, 0]));
  expect(await within('it closes', tunnel.closed, SOON_MS)).toEqual({
    code: 1002,
    reason: 'malformed frame',
  });
  using text = await Socket.open(daemon.url, await tunnelPath(), { token: TOKEN });
  text.ws.send('text');
  expect((await within('it closes', text.closed, SOON_MS)).code).toBe(1003);
  using pty = await Socket.open(daemon.url, `${sandbox.path}/pty`, { token: TOKEN });
  pty.ws.send(Buffer.alloc(17 * 1024 * 1024));
  expect((await within('it closes', pty.closed, SOON_MS)).code).toBe(1009);
});

it('a snapshot closes what is open and says so; a background command goes on after the resume, a shell does not', async () => {
  const box = await createSandbox(client);
  const started = await box.post('exec-stream', { command: 'sleep', args: ['9191'] });
  const { id } = started.json as { id: string };
  using log = await Socket.open(daemon.url, `${box.path}/exec-stream/${id}/logs`, { token: TOKEN });
  using pty = await Socket.open(daemon.url, `${box.path}/pty`, { token: TOKEN });
  await until('both run', async () => (await box.pgrep('^sleep 9191|^-bash')).length === 2, SOON_MS);
  const snapshot = await box.post('snapshot', {});
  expect(snapshot.status, snapshot.text).toBe(200);
  for (const socket of [log, pty])
    expect(await within('it closes', socket.closed, SOON_MS)).toEqual({
      code: 1001,
      reason: 'sandbox snapshotted',
    });
  const { snapshot_id: snapshotId } = snapshot.json as { snapshot_id: string };
  const resumed = await client.call('POST', `/snapshots/${snapshotId}/resume`);
  expect(resumed.status, resumed.text).toBe(200);
  await using again = new Sandbox(client, (resumed.json as { id: string }).id);
  expect(await again.pgrep('^sleep 9191')).toHaveLength(1);
  await until('the shell is gone', async () => (await again.pgrep('^-bash')).length === 0, SOON_MS);
  const { json } = await client.call('GET', `${again.path}/exec-stream`);
  expect(json).toEqual({ sessions: [] });
});

// The last test of the file: it ends the daemon.
it('every socket is told that the daemon ends, and no log has the token', async () => {
  const sockets: Socket[] = [];
  for (const [, path] of KINDS) sockets.push(await Socket.open(daemon.url, await path(), { token: TOKEN }));
  await daemon.stop();
  for (const socket of sockets)
    expect(await socket.closed).toEqual({ code: 1001, reason: 'daemon shutting down' });
  expect(daemon.log.stdout).toContain(sandbox.id);
  expect(daemon.log.text()).not.toContain(TOKEN);
});

/** Opens a socket by hand, sends it what no client would, and leaves, now and then in the middle. */
async function disturb(path: string, round: number): Promise<void> {
  const socket = await handshake(path);
  const closed = once(socket, 'close');
  for (const piece of nonsense(round)) if (socket.writable) socket.write(piece);
  if (round % 3 === 0) socket.resetAndDestroy();
  else if (round % 3 === 1) socket.end();
  else setTimeout(() => socket.destroy(), 50);
  await within('the connection ends', closed, SOON_MS);
}

async function handshake(path: string): Promise<TcpSocket> {
  const socket = connect(Number(new URL(daemon.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  const key = randomBytes(16).toString('base64');
  const lines = [
    `GET ${path}?token=${TOKEN} HTTP/1.1`,
    'Host: x',
    'Connection: Upgrade',
    'Upgrade: websocket',
    `Sec-WebSocket-Key: ${key}`,
    'Sec-WebSocket-Version: 13',
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  const [answer] = (await within('the handshake is answered', once(socket, 'data'), SOON_MS)) as [Buffer];
  expect(answer.toString('latin1')).toMatch(/^HTTP\/1.1 101/);
  socket.resume();
  return socket;
}

/** Bytes of many kinds: noise, frames of every opcode with random payloads, frames cut off, impossible lengths. */
function nonsense(round: number): Buffer[] {
  const payload = randomBytes(randomInt(0, 300));
  switch (round % 5) {
    case 0:
      return [randomBytes(randomInt(1, 2000))];
    case 1:
      return Array.from({ length: 16 }, (_, opcode) => wsFrame(0x80 | opcode, payload));
    case 2:
      return [wsFrame(0x82, payload).subarray(0, randomInt(1, 6 + payload.length))];
    case 3:
      return [Buffer.from([0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])];
    default:
      return Array.from({ length: 20 }, () =>
        wsFrame(0x82, Buffer.from([randomInt(4), randomInt(256), ...payload])),
      );
  }
}

/** A frame as a client sends it: masked, here with zeroes. */
function wsFrame(first: number, payload: Buffer): Buffer {
  const length = payload.length < 126 ? [payload.length] : [126, payload.length >> 8, payload.length & 255];
  length[0] = (length[0] ?? 0) | 0x80;
  return Buffer.concat([Buffer.from([first, ...length, 0, 0, 0, 0]), payload]);
}

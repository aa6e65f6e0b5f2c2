import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Lab, thrown } from './lab.ts';
import type { Sandbox } from './lab.ts';

const stack = new AsyncDisposableStack();
let lab: Lab;
let sandbox: Sandbox;

beforeAll(async () => {
  lab = stack.use(await Lab.start());
  sandbox = await lab.create();
});
afterAll(() => stack.disposeAsync());

/** Serves connections on this side, on a port of its own. */
async function serve(handle: (connection: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (connection) => {
    connection.on('error', () => undefined);
    handle(connection);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stack.defer(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Runs Python in the sandbox, and answers what it prints. */
async function python(script: string): Promise<string> {
  const { stdout, stderr } = await sandbox.exec('python3', ['-c', script], { timeout_ms: 60_000 });
  expect(stderr).toBe('');
  return stdout;
}

it('a tunnel brings the callers port into the sandbox', async () => {
  const port = await serve((connection) => connection.pipe(connection));
  await using tunnel = await sandbox.tunnel(7001, { port });
  expect(tunnel.guest_port).toBe(7001);
  // Half-closed each way, and several at once, with more than any buffer holds.
  const echoed = await python(`
import socket, threading
def talk(size):
    connection = socket.create_connection(("127.0.0.1", 7001))
    sent = bytes(range(256)) * (size // 256)
    def send():
        connection.sendall(sent); connection.shutdown(socket.SHUT_WR)
    thread = threading.Thread(target=send); thread.start()
    got = b"".join(iter(lambda: connection.recv(65536), b""))
    thread.join(); print(got == sent)
threads = [threading.Thread(target=talk, args=(size,)) for size in (256, 65536, 8 << 20, 2 << 20)]
[each.start() for each in threads]; [each.join() for each in threads]`);
  expect(echoed).toBe('True\n'.repeat(4));
});

it('closing a tunnel ends it', async () => {
  const { ConflictError, NotFoundError } = lab.sdk;
  const port = await serve(() => undefined);
  const tunnel = await sandbox.tunnel(7003, { port });
  expect(await thrown(sandbox.tunnel(7003, { port }))).toBeInstanceOf(ConflictError);
  await tunnel.close();
  await tunnel.closed;
  const refused = `
import socket
try: socket.create_connection(("127.0.0.1", 7003))
except ConnectionRefusedError: print("refused")`;
  expect(await python(refused)).toBe('refused\n');
  const other = await sandbox.tunnel(7003, { port });
  await sandbox.closeTunnel(other.id);
  await other.closed;
  expect(await python(refused)).toBe('refused\n');
  expect(await thrown(sandbox.closeTunnel(other.id))).toBeInstanceOf(NotFoundError);
});

describe('of this SDK alone', () => {
  it('a connection that nobody reads does not hold up another', async () => {
    const port = await serve((connection) => {
      connection.once('data', (name: Buffer) => {
        if (name.toString() === 'stuck') connection.pause();
        else connection.end('hello');
      });
    });
    await using _tunnel = await sandbox.tunnel(7002, { port });
    const heard = await python(`
import socket, threading
stuck = socket.create_connection(("127.0.0.1", 7002)); stuck.sendall(b"stuck")
stuck.settimeout(2)
try: stuck.sendall(bytes(3 << 20))
except TimeoutError: pass
quick = socket.create_connection(("127.0.0.1", 7002)); quick.sendall(b"quick")
print(quick.makefile().read())`);
    expect(heard).toBe('hello\n');
  });

  it('a server that is not there resets the connection', async () => {
    await using _tunnel = await sandbox.tunnel(7004, { port: 1 });
    const seen = await python(`
import socket
connection = socket.create_connection(("127.0.0.1", 7004))
try: print(connection.recv(1))
except ConnectionResetError: print("reset")`);
    expect(seen).toBe('reset\n');
  });
});

import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import type { Channel } from '../channel.ts';

/** What a message of a tunnel's socket is about: op (1 byte) | length of id (1 byte) | id | payload. */
const OP = { open: 0, data: 1, close: 2 } as const;

// What may wait for one server that does not read, before the tunnel's other connections wait too.
const CONNECTION_BYTES = 4 * 1024 * 1024;

/**
 * Connects each connection of the guest to a server, until the tunnel's end. Rejects when it ended by itself.
 */
export async function carryTunnel(channel: Channel, target: { host: string; port: number }): Promise<void> {
  const connections = new Map<string, Socket>();
  try {
    for await (const message of channel.messages()) {
      if (typeof message === 'string') continue;
      const { op, id, payload } = parse(message);
      if (op === OP.open) connections.set(id, open(channel, id, target, connections));
      const connection = connections.get(id);
      if (connection === undefined) continue;
      if (op === OP.data) await deliver(connection, payload);
      else if (op === OP.close && payload.length > 0) connection.resetAndDestroy();
      else if (op === OP.close) connection.end();
    }
  } finally {
    for (const connection of connections.values()) connection.destroy();
  }
}

function open(
  channel: Channel,
  id: string,
  target: { host: string; port: number },
  connections: Map<string, Socket>,
): Socket {
  const connection = connect({ ...target, allowHalfOpen: true, noDelay: true });
  const send = (op: number, payload?: Uint8Array) => channel.send(frame(op, id, payload));
  // A socket that has ended tells so by its messages.
  const tell = (op: number, payload?: Uint8Array) => void send(op, payload).catch(() => undefined);
  connection.on('data', (chunk: Buffer) => {
    // One piece at a time: what the tunnel does not take waits in the connection.
    connection.pause();
    send(OP.data, chunk).then(
      () => connection.resume(),
      () => connection.destroy(),
    );
  });
  connection.once('end', () => tell(OP.close));
  connection.once('error', () => tell(OP.close, Buffer.from('reset')));
  connection.once('close', () => connections.delete(id));
  return connection;
}

async function deliver(connection: Socket, payload: Uint8Array): Promise<void> {
  if (connection.writableEnded || connection.destroyed) return;
  connection.write(payload);
  if (connection.writableLength <= CONNECTION_BYTES) return;
  await Promise.race([once(connection, 'drain'), once(connection, 'close')]).catch(() => undefined);
}

function frame(op: number, id: string, payload: Uint8Array = new Uint8Array()): Uint8Array {
  const name = Buffer.from(id);
  return Buffer.concat([Buffer.from([op, name.length]), name, payload]);
}

function parse(message: Uint8Array): { op: number; id: string; payload: Uint8Array } {
  const [op = 0, length = 0] = message;
  const id = new TextDecoder().decode(message.subarray(2, 2 + length));
  return { op, id, payload: message.subarray(2 + length) };
}

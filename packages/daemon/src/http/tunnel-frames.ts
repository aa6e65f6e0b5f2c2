/** What a frame of a tunnel's socket says: its first byte. */
export const TUNNEL_OP = { open: 0, data: 1, close: 2 } as const;

export interface TunnelFrame {
  readonly op: number;
  readonly connectionId: string;
  readonly payload: Buffer;
}

/** One frame: op (1 byte), length of the connection's id (1 byte), the id (UTF-8), payload. */
export function tunnelFrame(
  op: number,
  connectionId: string,
  payload: Uint8Array = new Uint8Array(),
): Buffer {
  const id = Buffer.from(connectionId);
  return Buffer.concat([Buffer.from([op, id.length]), id, payload]);
}

/** Takes a frame apart; undefined when it is cut off. */
export function parseTunnelFrame(bytes: Buffer): TunnelFrame | undefined {
  const op = bytes[0];
  const length = bytes[1];
  if (op === undefined || length === undefined || bytes.length < 2 + length) return undefined;
  return { op, connectionId: bytes.toString('utf8', 2, 2 + length), payload: bytes.subarray(2 + length) };
}

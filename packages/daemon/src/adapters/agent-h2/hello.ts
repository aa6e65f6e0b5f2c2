import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';

// Both are 16 bytes, each followed by a 16-byte nonce: guest/agent/README.md, "Opening: the hello".
const HELLO = Buffer.from('ATOLL-HELLO/1\r\n\0', 'latin1');
const READY = Buffer.from('ATOLL-READY/1\r\n\0', 'latin1');
const NONCE_BYTES = 16;

// A guest that missed the end of the connection before takes the first hello for garbage and answers the second.
const REPEAT_MS = 1000;

/**
 * Opens an epoch over a guest's serial port: the socket is clean then, and ready for HTTP/2. It is closed when that fails.
 */
export async function openEpoch(socket: Socket, signal: AbortSignal): Promise<Socket> {
  try {
    await greet(socket, signal);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

async function greet(socket: Socket, signal: AbortSignal): Promise<void> {
  const nonce = randomBytes(NONCE_BYTES);
  const hello = Buffer.concat([HELLO, nonce]);
  const answer = Buffer.concat([READY, nonce]);
  const repeat = setInterval(() => socket.write(hello), REPEAT_MS);
  try {
    socket.write(hello);
    await discardThrough(socket, answer, signal);
  } finally {
    clearInterval(repeat);
  }
}

/** Drops what the socket brings up to and including `mark`, and leaves it paused. Nothing may come behind the mark. */
async function discardThrough(socket: Socket, mark: Buffer, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  let tail = Buffer.alloc(0);
  const onData = (chunk: Buffer) => {
    const seen = Buffer.concat([tail, chunk]);
    const at = seen.indexOf(mark);
    if (at === -1) {
      tail = Buffer.from(seen.subarray(Math.max(0, seen.length - mark.length + 1)));
    } else if (seen.length > at + mark.length) {
      reject(new Error('the guest agent spoke before it was asked'));
    } else {
      socket.pause();
      resolve(undefined);
    }
  };
  const onClose = () => reject(new Error('the machine closed the connection'));
  const onError = (error: Error) => reject(error);
  const onAbort = () => reject(signal.reason as Error);
  socket.on('data', onData).on('close', onClose).on('error', onError);
  signal.addEventListener('abort', onAbort);
  try {
    signal.throwIfAborted();
    await promise;
  } finally {
    socket.off('data', onData).off('close', onClose).off('error', onError);
    signal.removeEventListener('abort', onAbort);
  }
}

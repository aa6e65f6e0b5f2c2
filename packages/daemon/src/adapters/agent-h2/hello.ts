import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { tellTime } from '../../lib/guest-clock.ts';

// Each is 16 bytes, and followed by a 16-byte nonce: guest/agent/README.md, "Opening: the hello".
const magic = (word: string) => Buffer.from(`ATOLL-${word}/1\r\n\0`, 'latin1');
const HELLO = magic('HELLO');
const READY = magic('READY');
const AWAKE = magic('AWAKE');
const NAMED = magic('NAMED');
const ALIVE = magic('ALIVE');
const FAULT = magic('FAULT');
const NONCE_BYTES = 16;
const CLOCK_BYTES = 8;
const LENGTH_BYTES = 4;
// What the guest's kernel credits as a full pool: 256 bits (random(4)).
const SEED_BYTES = 32;

// A guest that missed the end of the connection before takes the first hello for garbage and answers the second.
const REPEAT_MS = 1000;

/**
 * Opens an epoch over a guest's serial port: the socket is clean then, and ready for HTTP/2. It is closed when that fails.
 */
export function openEpoch(socket: Socket, signal: AbortSignal): Promise<Socket> {
  return opening(socket, (nonce) => greet(socket, nonce, signal));
}

/**
 * As `openEpoch`, for a guest that begins to run: the time is set, and it has randomness that no other has, when the epoch is open. Needs
 * an agent of generation 6.
 * @param news what a `POST /configure` would tell it, up to 4 KiB: in force then too. Needs an agent of generation 7.
 */
export function awakenEpoch(socket: Socket, news: object | undefined, signal: AbortSignal): Promise<Socket> {
  return opening(socket, async (nonce) => {
    await greet(socket, nonce, signal);
    await tellTime((clockUnixNs) => awaken(socket, nonce, clockUnixNs, signal));
    if (news !== undefined) await name(socket, nonce, news, signal);
  });
}

async function opening(socket: Socket, open: (nonce: Buffer) => Promise<void>): Promise<Socket> {
  try {
    await open(randomBytes(NONCE_BYTES));
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

async function greet(socket: Socket, nonce: Buffer, signal: AbortSignal): Promise<void> {
  const hello = Buffer.concat([HELLO, nonce]);
  const answer = Buffer.concat([READY, nonce]);
  const repeat = setInterval(() => socket.write(hello), REPEAT_MS);
  try {
    socket.write(hello);
    await discardThrough(socket, [answer], signal);
  } finally {
    clearInterval(repeat);
  }
}

async function awaken(
  socket: Socket,
  nonce: Buffer,
  clockUnixNs: bigint,
  signal: AbortSignal,
): Promise<void> {
  const clock = Buffer.alloc(CLOCK_BYTES);
  clock.writeBigInt64BE(clockUnixNs);
  socket.write(Buffer.concat([AWAKE, nonce, clock, randomBytes(SEED_BYTES)]));
  if (!(await isDone(socket, nonce, signal)))
    throw new Error('the guest could not take up the time and randomness');
}

async function name(socket: Socket, nonce: Buffer, news: object, signal: AbortSignal): Promise<void> {
  const content = Buffer.from(JSON.stringify(news));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(content.length);
  socket.write(Buffer.concat([NAMED, nonce, length, content]));
  if (!(await isDone(socket, nonce, signal))) throw new Error('the guest could not take up its identity');
}

async function isDone(socket: Socket, nonce: Buffer, signal: AbortSignal): Promise<boolean> {
  const [alive, fault] = [Buffer.concat([ALIVE, nonce]), Buffer.concat([FAULT, nonce])];
  return (await discardThrough(socket, [alive, fault], signal)) === alive;
}

/**
 * Drops what the socket brings up to and including one of the marks, which are of one length, answers that one, and leaves the socket
 * paused. Nothing may come behind it.
 */
async function discardThrough(
  socket: Socket,
  marks: readonly Buffer[],
  signal: AbortSignal,
): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const [{ length } = HELLO] = marks;
  let tail = Buffer.alloc(0);
  const onData = (chunk: Buffer) => {
    const seen = Buffer.concat([tail, chunk]);
    const mark = marks.find((each) => seen.includes(each));
    if (mark === undefined) {
      tail = Buffer.from(seen.subarray(Math.max(0, seen.length - length + 1)));
    } else if (seen.length > seen.indexOf(mark) + length) {
      reject(new Error('the guest agent spoke before it was asked'));
    } else {
      socket.pause();
      resolve(mark);
    }
  };
  const onClose = () => reject(new Error('the machine closed the connection'));
  const onError = (error: Error) => reject(error);
  const onAbort = () => reject(signal.reason as Error);
  socket.on('data', onData).on('close', onClose).on('error', onError).resume();
  signal.addEventListener('abort', onAbort);
  try {
    signal.throwIfAborted();
    return await promise;
  } finally {
    socket.off('data', onData).off('close', onClose).off('error', onError);
    signal.removeEventListener('abort', onAbort);
  }
}

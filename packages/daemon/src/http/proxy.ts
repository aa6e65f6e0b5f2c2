import { request as httpRequest } from 'node:http';
import type { Agent, ClientRequest, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { PreviewVisit } from '../domain/previews.ts';
import { SandboxLeft } from '../domain/streams.ts';
import { AtollError, reasonOf } from '../lib/errors.ts';
import { closeFrame, FrameBoundary } from './frame-boundary.ts';
import { clientHeaders } from './proxy-headers.ts';
import { REQUEST_ID_HEADER } from './request-id.ts';
import { closeOf } from './socket.ts';
import type { Upgrades } from './upgrades.ts';

const LINGER_MS = 1000;

export interface ProxyCall {
  readonly visit: PreviewVisit;
  readonly port: number;
  /** Path and query. */
  readonly target: string;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly timeoutMs: number;
  /** A connection for this request alone, which its maker destroys, or those that are kept: then it is one without a body. */
  readonly over: { readonly connection: Duplex } | { readonly kept: Agent };
  /** Aborts when the client goes away, and when the sandbox is left. */
  readonly ended: AbortSignal;
}

/** The server ended a kept connection just when it was to be used again: the same request may go over another. */
export class StaleConnection extends Error {
  override readonly name = 'StaleConnection';
}

interface Answer {
  readonly response: IncomingMessage;
  /** What came behind the head of an answer that switches protocols. */
  readonly upgraded?: Buffer;
}

/**
 * Passes one request on and the answer back, streaming both. Throws, before anything is answered, PREVIEW_TIMEOUT when no headers
 * come in time, PREVIEW_BROKEN when what comes is no answer, and StaleConnection.
 */
export async function proxy(
  call: ProxyCall,
  request: FastifyRequest,
  reply: FastifyReply,
  upgrades: Upgrades,
): Promise<void> {
  const { over, visit } = call;
  const outgoing = httpRequest({
    ...('kept' in over ? { agent: over.kept, port: call.port } : { createConnection: () => over.connection }),
    method: request.method,
    path: call.target,
    headers: call.headers,
  });
  // What breaks once the answer is here shows in the answer itself.
  outgoing.on('error', () => undefined);
  outgoing.once('continue', () => reply.raw.writeContinue());
  try {
    const { response, upgraded } = await answerOf(call, outgoing, request);
    if (upgraded === undefined) await passBack(call, response, request, reply);
    else if ('connection' in over && upgrades.pending(request) !== undefined)
      await switchOver(visit, over.connection, { response, upgraded }, request, reply, upgrades);
    else throw unasked(call, response);
  } catch (error) {
    outgoing.destroy();
    throw error;
  } finally {
    // The rest of a body that nobody takes is read and dropped: it stands before the connection's next request.
    if ('connection' in over) request.raw.unpipe(outgoing).resume();
  }
}

/** A server that switches protocols in answer to a plain request: what comes over its connection now is nobody's. */
function unasked({ visit, port }: ProxyCall, { socket }: IncomingMessage): AtollError {
  socket.destroy();
  const reason = 'it switched protocols unasked';
  return AtollError.of('PREVIEW_BROKEN', { id: visit.sandboxId, port, reason });
}

/** Sends the request and waits for the head of the answer. The time runs while nothing of the body moves. */
async function answerOf(call: ProxyCall, outgoing: ClientRequest, request: FastifyRequest): Promise<Answer> {
  const { visit, port, timeoutMs, over } = call;
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const late = () =>
    reject(AtollError.of('PREVIEW_TIMEOUT', { id: visit.sandboxId, port, seconds: timeoutMs / 1000 }));
  const timer = setTimeout(late, timeoutMs);
  const giveUp = () => reject(call.ended.reason as Error);
  call.ended.addEventListener('abort', giveUp);
  outgoing.once('response', (response) => resolve({ response }));
  outgoing.once('upgrade', (response, _socket, upgraded) => resolve({ response, upgraded }));
  outgoing.once('error', reject);
  if ('kept' in over) outgoing.end();
  else {
    request.raw.on('data', (chunk: Buffer) => {
      timer.refresh();
      visit.stream.count('in', chunk.length);
    });
    request.raw.pipe(outgoing);
  }
  try {
    return await promise;
  } catch (error) {
    if (error instanceof AtollError) throw error;
    const { left } = visit.stream;
    if (outgoing.reusedSocket && !call.ended.aborted) throw new StaleConnection();
    const cause: unknown = left.aborted ? left.reason : error;
    throw AtollError.of('PREVIEW_BROKEN', { id: visit.sandboxId, port, reason: reasonOf(cause) }, error);
  } finally {
    clearTimeout(timer);
    // A signal that depends on others is kept for as long as it has a listener and they live.
    call.ended.removeEventListener('abort', giveUp);
  }
}

async function passBack(
  { visit, ended }: ProxyCall,
  response: IncomingMessage,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  reply.hijack();
  const headers = [...clientHeaders(response), REQUEST_ID_HEADER, request.id];
  reply.raw.writeHead(response.statusCode ?? 502, reasonPhrase(response), headers);
  if (response.complete) {
    // All of a short answer comes with its head.
    const body = response.read() as Buffer | null;
    if (body !== null) visit.stream.count('out', body.length);
    reply.raw.end(body ?? undefined);
    return;
  }
  // The first event of a stream may be long in coming; its client is to know that it will.
  if (response.readableLength === 0) reply.raw.flushHeaders();
  response.on('data', (chunk: Buffer) => visit.stream.count('out', chunk.length));
  // Whichever side breaks, the other one sees its part cut off.
  await pipeline(response, reply.raw, { signal: ended }).catch(() => undefined);
}

/** What follows the status, if a server may send that: Node takes more of it than it sends. */
function reasonPhrase({ statusMessage = '' }: IncomingMessage): string {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(statusMessage) ? statusMessage : '';
}

/** Joins the two connections once the server has agreed to another protocol, until either is over. */
async function switchOver(
  { stream }: PreviewVisit,
  connection: Duplex,
  { response, upgraded = Buffer.alloc(0) }: Answer,
  request: FastifyRequest,
  reply: FastifyReply,
  upgrades: Upgrades,
): Promise<void> {
  const { socket, head } = upgrades.take(request, reply);
  const headers = [
    ...clientHeaders(response),
    ...['Connection', 'Upgrade', 'Upgrade', response.headers.upgrade ?? ''],
    ...[REQUEST_ID_HEADER, request.id],
  ];
  const lines = headers.flatMap((name, at) =>
    at % 2 === 0 ? [`${name}: ${headers[at + 1] ?? ''}\r\n`] : [],
  );
  socket.write(`HTTP/1.1 101 ${response.statusMessage ?? ''}\r\n${lines.join('')}\r\n`, 'latin1');
  if (upgraded.length > 0) socket.write(upgraded);
  if (head.length > 0) connection.write(head);
  const boundary = new FrameBoundary();
  connection.on('data', (chunk: Buffer) => {
    boundary.push(chunk);
    stream.count('out', chunk.length);
  });
  boundary.push(upgraded);
  // In the midst of a message there is no place for a word.
  stream.left.addEventListener('abort', () => {
    const { reason } = stream.left as { reason: unknown };
    if (reason instanceof SandboxLeft && boundary.isHere) socket.end(closeFrame(...closeOf(reason)));
  });
  socket.on('data', (chunk: Buffer) => stream.count('in', chunk.length));
  const ways = [join(socket, connection), join(connection, socket)];
  await Promise.race(ways);
  // The other side answers the end with its own, unless it is gone.
  await Promise.race([Promise.all(ways), sleep(LINGER_MS, undefined, { ref: false })]);
  socket.destroySoon();
}

/** Passes bytes on until there are no more, upon which the receiver is told. Never rejects. */
async function join(from: Duplex, to: Duplex): Promise<void> {
  from.pipe(to);
  await finished(from, { writable: false }).catch(() => undefined);
}

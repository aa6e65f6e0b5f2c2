import { createServer } from 'node:http';
import type { IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from 'node:http';
import { once } from 'node:events';
import { asText, documentOf, valueAt } from './document.ts';
import type { GuestIdentity } from './document.ts';
import { Tokens } from './tokens.ts';

const TOKEN_PATH = '/latest/api/token';
const TOKEN_HEADER = 'x-metadata-token';
const TTL_HEADER = 'x-metadata-token-ttl-seconds';
const MAX_TTL_SECONDS = 21_600;

// A question is one small packet and so is its answer; who takes longer only holds the connection.
const REQUEST_MS = 5000;
const KEEP_ALIVE_MS = 5000;
const MAX_HEADER_BYTES = 8192;
// Of one guest at a time: none can take every connection for itself.
const CONNECTIONS_PER_GUEST = 32;

export interface MetadataOptions {
  readonly host: string;
  readonly port: number;
  /** Who has this address now; undefined when nobody has. The network lets no guest use another's. */
  readonly identityOf: (address: string) => GuestIdentity | undefined;
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers?: OutgoingHttpHeaders;
}

/**
 * Tells each guest who it is, after the manner of cloud metadata services, version 2: a token by PUT first, then GET with it.
 * Only guests with a name or tags are served, and each only about itself.
 */
export class MetadataServer implements AsyncDisposable {
  readonly #server: Server;
  readonly #identityOf: MetadataOptions['identityOf'];
  readonly #tokens = new Tokens(() => performance.now());
  readonly #connections = new Map<string, number>();

  private constructor(identityOf: MetadataOptions['identityOf']) {
    this.#identityOf = identityOf;
    this.#server = createServer(
      { maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: REQUEST_MS, keepAliveTimeout: KEEP_ALIVE_MS },
      (request, response) => this.#respond(request, response),
    );
    this.#server.on('connection', (socket) => {
      const guest = socket.remoteAddress ?? '';
      const open = (this.#connections.get(guest) ?? 0) + 1;
      this.#connections.set(guest, open);
      socket.once('close', () => this.#forget(guest));
      if (open > CONNECTIONS_PER_GUEST) socket.destroy();
    });
  }

  /** Answers when it listens. */
  static async listen({ host, port, identityOf }: MetadataOptions): Promise<MetadataServer> {
    const metadata = new MetadataServer(identityOf);
    metadata.#server.listen(port, host);
    await once(metadata.#server, 'listening');
    return metadata;
  }

  /** Where it listens: another port than asked for when that was 0. */
  get port(): number {
    const address = this.#server.address();
    return address === null || typeof address === 'string' ? 0 : address.port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  #forget(guest: string): void {
    const left = (this.#connections.get(guest) ?? 1) - 1;
    if (left === 0) this.#connections.delete(guest);
    else this.#connections.set(guest, left);
  }

  #respond(request: IncomingMessage, response: ServerResponse): void {
    // No question has a body; one that comes with it is read and dropped, so that the next question is found.
    request.resume();
    const { status, body, headers } = this.#answer(request);
    response.writeHead(status, {
      'content-type': 'text/plain; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      'cache-control': 'no-store',
      ...headers,
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  }

  #answer(request: IncomingMessage): Answer {
    const identity = this.#identityOf(request.socket.remoteAddress ?? '');
    if (identity === undefined || (identity.name === undefined && Object.keys(identity.tags).length === 0))
      return { status: 404, body: 'this sandbox has no metadata: it has neither a name nor tags' };
    const [path = ''] = (request.url ?? '').split('?');
    if (path === TOKEN_PATH) return this.#token(request, identity);
    if (request.method !== 'GET' && request.method !== 'HEAD') return notAllowed('GET, HEAD');
    const token = request.headers[TOKEN_HEADER];
    if (typeof token !== 'string' || !this.#tokens.accepts(identity.id, token))
      return { status: 401, body: `takes a valid token in ${TOKEN_HEADER}; PUT ${TOKEN_PATH} gives one` };
    return read(identity, path, request.headers.accept ?? '');
  }

  #token(request: IncomingMessage, { id }: GuestIdentity): Answer {
    if (request.method !== 'PUT') return notAllowed('PUT');
    // A proxy in the guest adds it: then somebody else than a program of the guest is asking.
    if (request.headers['x-forwarded-for'] !== undefined)
      return { status: 403, body: 'a forwarded request gets no token' };
    const ttl = request.headers[TTL_HEADER];
    const seconds = typeof ttl === 'string' && /^\d{1,5}$/.test(ttl) ? Number(ttl) : 0;
    if (seconds < 1 || seconds > MAX_TTL_SECONDS)
      return { status: 400, body: `${TTL_HEADER}: takes 1 to ${MAX_TTL_SECONDS}` };
    return { status: 200, body: this.#tokens.issue(id, seconds), headers: { [TTL_HEADER]: seconds } };
  }
}

function read(identity: GuestIdentity, path: string, accept: string): Answer {
  const value = valueAt(documentOf(identity), path);
  if (value === undefined) return { status: 404, body: `nothing is at ${path}` };
  if (!accept.includes('application/json')) return { status: 200, body: asText(value) };
  return { status: 200, body: JSON.stringify(value), headers: { 'content-type': 'application/json' } };
}

function notAllowed(allow: string): Answer {
  return { status: 405, body: `takes ${allow}`, headers: { allow } };
}

import type { IncomingMessage } from 'node:http';
import { withoutPass } from './preview-pass.ts';

// RFC 9110, 7.6.1: these belong to one connection. Trailer and Transfer-Encoding are set anew where the body needs them.
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

// The daemon's own: the token, who asks, and what is put in below.
const NOT_FOR_GUESTS = new Set(['authorization', 'host', 'cookie', 'referer', 'x-forwarded-for']);

// A server that is one of many under one origin must not let its pages take over the others' requests.
const NOT_FROM_GUESTS = new Set(['service-worker-allowed', 'x-request-id']);

const BODYLESS = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT']);

/** Where the request came from, for X-Forwarded-*. */
export interface Forwarded {
  readonly prefix: string;
  readonly port: number;
  /** Whether the server may keep the connection for another request. */
  readonly keepAlive: boolean;
  /** True for text that holds the API's token, so that it must not reach a guest. */
  readonly holdsToken: (text: string) => boolean;
}

/** The headers for the server inside the sandbox, in the order and the spelling of the client. */
export function guestHeaders(
  request: IncomingMessage,
  { prefix, port, keepAlive, holdsToken }: Forwarded,
): string[] {
  const { headers } = request;
  const kept = passedOn(request, NOT_FOR_GUESTS);
  const add = (name: string, value: string | undefined) => {
    if (value !== undefined) kept.push(name, value);
  };
  add('Host', `127.0.0.1:${port}`);
  add('Cookie', withoutPass(headers));
  if (headers.referer !== undefined && !holdsToken(headers.referer)) add('Referer', headers.referer);
  add(
    'X-Forwarded-For',
    [headers['x-forwarded-for'], request.socket.remoteAddress].filter(Boolean).join(', '),
  );
  if (headers['x-forwarded-host'] === undefined) add('X-Forwarded-Host', headers.host);
  if (headers['x-forwarded-proto'] === undefined) add('X-Forwarded-Proto', 'http');
  if (headers['x-forwarded-prefix'] === undefined) add('X-Forwarded-Prefix', prefix);
  if (headers.upgrade !== undefined) kept.push('Connection', 'Upgrade', 'Upgrade', headers.upgrade);
  else add('Connection', keepAlive ? 'keep-alive' : 'close');
  if (headers['transfer-encoding'] !== undefined) add('Transfer-Encoding', 'chunked');
  else if (headers['content-length'] === undefined && !BODYLESS.has(request.method ?? ''))
    add('Content-Length', '0');
  return kept;
}

/** The headers for the client, in the order and the spelling of the server. */
export function clientHeaders(response: IncomingMessage): string[] {
  return passedOn(response, NOT_FROM_GUESTS);
}

/** Names and values in turn, without those of the connection, and these. */
function passedOn({ rawHeaders, headers }: IncomingMessage, without: ReadonlySet<string>): string[] {
  const dropped = named(headers.connection);
  const kept: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const header = rawHeaders[at] ?? '';
    const name = header.toLowerCase();
    if (!HOP_BY_HOP.has(name) && !without.has(name) && !dropped.has(name))
      kept.push(header, rawHeaders[at + 1] ?? '');
  }
  return kept;
}

/** What a Connection header says is for this connection only. */
function named(connection: string | undefined): Set<string> {
  return new Set((connection ?? '').split(',').map((name) => name.trim().toLowerCase()));
}

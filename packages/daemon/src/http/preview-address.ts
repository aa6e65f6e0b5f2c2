import type { IncomingMessage } from 'node:http';

/** What a preview's URL says: where the server inside the sandbox seems to be mounted, and what it is asked. */
export interface PreviewAddress {
  /** Path of the preview itself, as the client wrote it, without a slash at its end. */
  readonly prefix: string;
  /** Path and query for the server. */
  readonly target: string;
}

const PREFIX = /^\/sandboxes\/[^/?]+\/preview\/[^/?]+/;

/** Splits the raw URL, so that the server gets its part byte for byte. `isSecret` tells which `token` parameters are dropped. */
export function previewAddress(url: string, isSecret: (token: string) => boolean): PreviewAddress {
  const prefix = PREFIX.exec(url)?.[0] ?? '';
  const rest = url.slice(prefix.length);
  if (!rest.includes('?')) return { prefix, target: rest === '' ? '/' : rest };
  const [path = '', ...query] = rest.split('?');
  const kept = query
    .join('?')
    .split('&')
    .filter((pair) => !isTokenPair(pair, isSecret));
  const search = kept.join('') === '' ? '' : `?${kept.join('&')}`;
  return { prefix, target: `${path === '' ? '/' : path}${search}` };
}

function isTokenPair(pair: string, isSecret: (token: string) => boolean): boolean {
  const [name, value] = [...new URLSearchParams(pair)][0] ?? [];
  return name === 'token' && isSecret(value ?? '');
}

/** Whether a browser goes to a page by this request, so that the page will see the URL. */
export function isNavigation({ method, headers }: IncomingMessage): boolean {
  if (method !== 'GET') return false;
  const mode = headers['sec-fetch-mode'];
  // Browsers leave it out where the daemon is reached by plain HTTP under a name that is not local.
  return mode === 'navigate' || (mode === undefined && (headers.accept ?? '').includes('text/html'));
}

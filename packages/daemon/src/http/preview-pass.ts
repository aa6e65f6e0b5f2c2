import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

const COOKIE = 'atoll_preview';

/**
 * What lets a browser go on in one preview without the token: a cookie for its path that opens nothing else. The pages of the
 * preview cannot read it, and the server inside the sandbox never gets it.
 */
export class PreviewPass {
  readonly #token: string;

  constructor(token: string) {
    this.#token = token;
  }

  /** The Set-Cookie header for a preview, by the path it is at. */
  cookieFor(prefix: string): string {
    return `${COOKIE}=${this.#valueFor(prefix)}; Path=${prefix}; HttpOnly; SameSite=Lax`;
  }

  isIn(headers: IncomingHttpHeaders, prefix: string): boolean {
    const expected = Buffer.from(this.#valueFor(prefix));
    return cookiesOf(headers).some(([name, value]) => {
      const given = Buffer.from(value);
      return name === COOKIE && given.length === expected.length && timingSafeEqual(given, expected);
    });
  }

  #valueFor(prefix: string): string {
    return createHmac('sha256', this.#token).update(`preview ${prefix}`).digest('base64url');
  }
}

/** The Cookie header without the pass; undefined when nothing is left. */
export function withoutPass(headers: IncomingHttpHeaders): string | undefined {
  const kept = cookiesOf(headers).filter(([name]) => name !== COOKIE);
  return kept.length === 0 ? undefined : kept.map(([name, value]) => `${name}=${value}`).join('; ');
}

function cookiesOf({ cookie = '' }: IncomingHttpHeaders): [name: string, value: string][] {
  return cookie
    .split(';')
    .map((pair) => pair.trim())
    .filter(Boolean)
    .map((pair) => {
      const [name = '', ...value] = pair.split('=');
      return [name, value.join('=')];
    });
}

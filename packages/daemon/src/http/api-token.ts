import { createHash, timingSafeEqual } from 'node:crypto';
import { PreviewPass } from './preview-pass.ts';

/** The token that the API asks for. */
export class ApiToken {
  readonly pass: PreviewPass;
  readonly #digest: Buffer;
  readonly #forms: readonly string[];

  constructor(token: string) {
    this.#digest = digest(token);
    this.#forms = [token, encodeURIComponent(token)];
    this.pass = new PreviewPass(token);
  }

  /** Whether that is the token. Digests have one length, so that the comparison tells nothing, not even how long it is. */
  matches(given: unknown): boolean {
    return typeof given === 'string' && timingSafeEqual(digest(given), this.#digest);
  }

  /** Whether a text, such as a URL, holds the token. */
  isIn(text: string): boolean {
    return this.#forms.some((form) => text.includes(form));
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

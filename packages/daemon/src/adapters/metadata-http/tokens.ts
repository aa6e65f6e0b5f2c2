import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const EXPIRY_BYTES = 6;
const SEAL_BYTES = 32;

/**
 * Session tokens that need no memory: a token is the time it expires and a seal over that and the sandbox it is for, under a
 * key that lives as long as this object. A guest that asks for a million of them fills nothing.
 */
export class Tokens {
  readonly #key = randomBytes(SEAL_BYTES);
  readonly #now: () => number;

  /** @param now milliseconds on any clock that does not go back. */
  constructor(now: () => number) {
    this.#now = now;
  }

  issue(sandboxId: string, ttlSeconds: number): string {
    const expiry = Buffer.alloc(EXPIRY_BYTES);
    expiry.writeUIntBE(Math.floor(this.#now()) + ttlSeconds * 1000, 0, EXPIRY_BYTES);
    return Buffer.concat([expiry, this.#seal(sandboxId, expiry)]).toString('base64url');
  }

  /** Whether this is a token for that sandbox that has not expired. */
  accepts(sandboxId: string, token: string): boolean {
    const bytes = Buffer.from(token, 'base64url');
    if (bytes.length !== EXPIRY_BYTES + SEAL_BYTES) return false;
    const expiry = bytes.subarray(0, EXPIRY_BYTES);
    const genuine = timingSafeEqual(bytes.subarray(EXPIRY_BYTES), this.#seal(sandboxId, expiry));
    return genuine && this.#now() < expiry.readUIntBE(0, EXPIRY_BYTES);
  }

  #seal(sandboxId: string, expiry: Buffer): Buffer {
    return createHmac('sha256', this.#key).update(expiry).update(sandboxId).digest();
  }
}

import { describe, expect, it } from 'vitest';
import { Tokens } from './tokens.ts';

describe('Tokens', () => {
  it('accepts a token of the same sandbox until it expires', () => {
    let now = 1000.5;
    const tokens = new Tokens(() => now);
    const token = tokens.issue('a', 2);
    expect(tokens.accepts('a', token)).toBe(true);
    now += 1999;
    expect(tokens.accepts('a', token)).toBe(true);
    now += 1;
    expect(tokens.accepts('a', token)).toBe(false);
  });

  it('accepts none of another sandbox, of another key, or tampered with', () => {
    const tokens = new Tokens(() => 0);
    const token = tokens.issue('a', 60);
    expect(tokens.accepts('b', token)).toBe(false);
    expect(new Tokens(() => 0).accepts('a', token)).toBe(false);
    const bytes = Buffer.from(token, 'base64url');
    for (let place = 0; place < bytes.length; place += 1) {
      const forged = Buffer.from(bytes);
      forged[place] = (forged[place] ?? 0) ^ 1;
      expect(tokens.accepts('a', forged.toString('base64url'))).toBe(false);
    }
  });

  it.each(['', 'x', 'A'.repeat(51), 'A'.repeat(5000), '\u0000'])('refuses %j', (text) => {
    expect(new Tokens(() => 0).accepts('a', text)).toBe(false);
  });
});

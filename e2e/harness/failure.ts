import { expect } from 'vitest';
import type { Answer } from './client.ts';

/** Checks an error response: its status, its one shape, its code, and that the message names these. */
export function expectFailure(answer: Answer, status: number, code: string, ...named: string[]): void {
  const body = (answer.json ?? {}) as { error?: string; code?: string };
  expect({ status: answer.status, code: body.code }, answer.text).toEqual({ status, code });
  expect(Object.keys(body).toSorted()).toEqual(['code', 'error']);
  for (const name of named) expect(body.error).toContain(name);
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
}

/** Checks that an answer is 204 and has no body. */
export function expectNoContent(answer: Answer): void {
  expect(answer.status, answer.text).toBe(204);
  expect(answer.text).toBe('');
}

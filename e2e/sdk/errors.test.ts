import { afterAll, beforeAll, expect, it } from 'vitest';
import { Lab, TOKEN, thrown } from './lab.ts';
import type { Sandbox } from './lab.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await Lab.start();
});
afterAll(() => lab[Symbol.asyncDispose]());

it('a refused field is an invalid request', async () => {
  const { ApiError, AtollError, InvalidRequestError } = lab.sdk;
  const error = await thrown(lab.create({ vcpu_count: 0 }));
  for (const type of [InvalidRequestError, ApiError, AtollError, Error]) expect(error).toBeInstanceOf(type);
  expect(error).toMatchObject({
    name: 'InvalidRequestError',
    status: 400,
    code: 'INVALID_REQUEST',
    retryable: false,
  });
  expect(error.message).toMatch(/^vcpu_count: /);
});

it('a taken name is a conflict', async () => {
  const { ConflictError } = lab.sdk;
  await using _sandbox = await lab.create({ name: 'mine' });
  const error = await thrown(lab.create({ name: 'mine' }));
  expect(error).toBeInstanceOf(ConflictError);
  expect(error).toMatchObject({ code: 'NAME_TAKEN', status: 409 });
});

it('a wrong token is unauthorized', async () => {
  const { Sandbox, UnauthorizedError } = lab.sdk;
  const { url } = lab.daemon;
  const wrong = await thrown(Sandbox.list({ url, token: 'wrong-token' }));
  expect(wrong).toBeInstanceOf(UnauthorizedError);
  expect(wrong.message).toBe(`the Atoll daemon at ${url} does not take this token`);
  const none = await thrown(Sandbox.list({ url, token: '' }));
  expect(none).toBeInstanceOf(UnauthorizedError);
  expect(none.message).toContain('pass it as token, or set ATOLL_TOKEN');
  // A socket's handshake is refused as clearly.
  await using sandbox = await lab.create();
  expect(await thrown((await asStranger(sandbox.id)).pty())).toBeInstanceOf(UnauthorizedError);
  const odd = await thrown(Promise.resolve().then(() => Sandbox.list({ url, token: `${TOKEN}\n` })));
  expect(odd.message).toContain('token takes');
  expect(odd.message).not.toContain(TOKEN);
});

it('errors carry the request id', async () => {
  const { Sandbox } = lab.sdk;
  const error = (await thrown(Sandbox.get('nobody', { client: lab.client }))) as Error & {
    requestId?: string;
  };
  expect(error.requestId).toMatch(/^[0-9a-f-]{36}$/);
  await using sandbox = await lab.create();
  const unknown = sandbox.process('00000000-0000-4000-8000-000000000000');
  const socket = (await thrown(unknown.wait())) as Error & { requestId?: string };
  expect(socket).toMatchObject({ name: 'NotFoundError', code: 'NOT_FOUND' });
  expect(socket.requestId).toMatch(/^[0-9a-f-]{36}$/);
});

/** A sandbox whose sockets have the wrong token, though its calls have the right one. */
async function asStranger(id: string): Promise<Sandbox> {
  const right = { authorization: `Bearer ${TOKEN}` };
  const withRight: typeof fetch = (input, init) => fetch(input, { ...init, headers: right });
  const client = new lab.sdk.Atoll({ url: lab.daemon.url, token: 'wrong-token', fetch: withRight });
  return lab.sdk.Sandbox.get(id, { client });
}

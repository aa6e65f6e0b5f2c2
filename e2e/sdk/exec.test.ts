import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../harness/poll.ts';
import { Lab, sh, thrown } from './lab.ts';
import type { Sandbox } from './lab.ts';

const SOON_MS = 30_000;
let lab: Lab;
let sandbox: Sandbox;

beforeAll(async () => {
  lab = await Lab.start();
  sandbox = await lab.create();
});
afterAll(() => lab[Symbol.asyncDispose]());

it('exec gives output and exit code', async () => {
  const result = await sandbox.exec('sh', ['-c', 'echo out; echo err >&2; exit 3']);
  expect(result).toEqual({ stdout: 'out\n', stderr: 'err\n', exit_code: 3 });
  expect((await sandbox.exec('no-such-program')).exit_code).toBe(127);
});

it('exec takes env cwd and user', async () => {
  const { stdout } = await sandbox.exec('sh', ['-c', 'echo $GREETING; pwd; id -un'], {
    env: { GREETING: 'hello' },
    cwd: '/var',
    user: 'nobody',
  });
  expect(stdout).toBe('hello\n/var\nnobody\n');
});

it('exec feeds stdin', async () => {
  expect((await sandbox.exec('cat', [], { stdin: 'ä text' })).stdout).toBe('ä text');
  const bytes = Uint8Array.from({ length: 100_000 }, (_, at) => at % 256);
  expect((await sandbox.exec('wc', ['-c'], { stdin: bytes })).stdout).toBe('100000\n');
});

it('exec that takes too long is timed out', async () => {
  const result = await sandbox.exec('sh', ['-c', 'echo begun; sleep 600'], { timeout_ms: 500 });
  expect(result).toMatchObject({ stdout: 'begun\n', exit_code: 124, timed_out: true });
});

it('exec of bytes that are no text', async () => {
  const result = await sandbox.exec('printf', ['\\377\\000\\376']);
  expect(result.stdout_base64).toBe(Buffer.from([255, 0, 254]).toString('base64'));
});

it('exec can be aborted', async () => {
  const { TimeoutError } = lab.sdk;
  const reason = new Error('never mind');
  const controller = new AbortController();
  const aborted = sandbox.exec('sleep', ['601'], { signal: controller.signal });
  const runs = (seconds: number) => sh(sandbox, `pgrep -fx 'sleep ${seconds}' || true`);
  await until('it runs', async () => (await runs(601)) !== '', SOON_MS);
  controller.abort(reason);
  expect(await thrown(aborted)).toBe(reason);
  const late = await thrown(sandbox.exec('sleep', ['602'], { timeoutMs: 300 }));
  expect(late).toBeInstanceOf(TimeoutError);
  expect(late).toMatchObject({ timeoutMs: 300 });
  // The commands end with their calls.
  await until('they have ended', async () => (await runs(601)) + (await runs(602)) === '', SOON_MS);
});

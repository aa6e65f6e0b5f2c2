import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Daemon } from './harness/daemon.ts';
import { Outside, OUTSIDE } from './network/outside.ts';
import { listTests, SuiteRun } from './python/suite.ts';
import { InstalledWheel } from './python/wheel.ts';
import { makeAlpineLike } from './storage/alpine-like.ts';
import { findBusybox } from './storage/busybox.ts';
import { host } from './storage/files.ts';
import { S3Server } from './storage/s3.ts';

const TOKEN = 'a-token-of-the-tests';
const SMALL = { SERVICE_VCPU_COUNT: '1', SERVICE_MEM_SIZE_MIB: '256' };
const SUITE_MS = 600_000;

const stack = new AsyncDisposableStack();
let dir: string;
let wheel: InstalledWheel;
let given: Record<string, string>;

beforeAll(async () => {
  // A place that the daemon's user may enter.
  dir = await mkdtemp('/var/tmp/atoll-python-');
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  await chmod(dir, 0o755);
  wheel = await InstalledWheel.install(dir);
  const outside = stack.use(await Outside.attach(`atoll-test-${process.pid}-out`));
  const s3 = stack.use(await S3Server.start(outside, OUTSIDE[0]));
  await s3.makeBucket('data');
  // The uplink has come after the set-up.
  await host(process.execPath, 'host/network/setup.ts');
  const { endpoint, accessKey: access_key, secretKey: secret_key } = s3;
  given = {
    ATOLL_TEST_IMAGE: await makeAlpineLike(dir, await findBusybox(dir)),
    ATOLL_TEST_STORE: JSON.stringify({ bucket: 'data', endpoint, access_key, secret_key }),
  };
});

afterAll(() => stack.disposeAsync());

describe.each([
  { world: 'asyncio, at a daemon with a token', tests: listTests('tests/aio'), token: TOKEN },
  {
    world: 'plain calls, at a daemon without a token',
    tests: listTests('tests'),
    token: undefined,
  },
])('the Python SDK: $world', ({ tests, token }) => {
  let run: SuiteRun;

  beforeAll(async () => {
    await using daemon = await Daemon.start({
      ...SMALL,
      ...(token !== undefined && { SERVICE_AUTH_TOKEN: token }),
    });
    const env = { ...given, ATOLL_URL: daemon.url, ...(token !== undefined && { ATOLL_TOKEN: token }) };
    run = await SuiteRun.run(wheel, tests, env, join(dir, `${token ?? 'none'}.jsonl`));
    daemon.assertRunning();
  }, SUITE_MS);

  it.each(tests)('%s', (id) => {
    run.assertPassed(id);
  });

  it('ends in order', () => {
    expect(run.exitCode, run.output).toBe(0);
  });
});

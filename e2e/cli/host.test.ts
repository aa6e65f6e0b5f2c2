import { execFile } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { Cli } from './harness/cli.ts';
import { emptyFolder } from './harness/installed.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
// The set-up of a host that lacks nothing, and the boot of a first sandbox.
const UP_MS = 300_000;
const ADDRESS = '127.0.0.1:17777';

it('takes a checkout, and says so where there is none', async () => {
  const cli = await Cli.of(`http://${ADDRESS}`);
  for (const name of ['up', 'down', 'doctor'])
    expect(await cli.run([name])).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^atoll: this takes a checkout of Atoll.*ATOLL_HOME.*\n$/) as string,
    });
  expect(await cli.run(['up'], { env: { ATOLL_HOME: '/none' } })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^atoll: ATOLL_HOME is \/none, which is no checkout.*\n$/) as string,
  });
});

it('doctor is that of the checkout around it, or of the one that is named', async () => {
  const cli = await Cli.of(`http://${ADDRESS}`);
  // Whatever is amiss with this host is the same for both.
  const { code, stdout } = await run('bash', ['host/network.sh', 'doctor'], { cwd: ROOT }).then(
    (done) => ({ code: 0, stdout: done.stdout }),
    (error: unknown) => error as { code: number; stdout: string },
  );
  expect(stdout).toContain('ok  nft');
  const around = await cli.run(['doctor'], { cwd: join(ROOT, 'host') });
  expect({ ...around, stdout: lasting(around.stdout) }).toEqual({
    code,
    stdout: lasting(stdout),
    stderr: '',
  });
  const named = await cli.run(['--json', 'doctor'], { env: { ATOLL_HOME: ROOT } });
  expect({ ...named, stderr: lasting(named.stderr) }).toEqual({
    code,
    stdout: `{\n  "exit_code": ${code}\n}\n`,
    stderr: lasting(stdout),
  });
});

it(
  'up starts a daemon that runs a sandbox, and down ends it',
  async () => {
    await using folder = await emptyFolder();
    // The daemon is another user.
    await chmod(folder.path, 0o755);
    const env = {
      ATOLL_HOME: ROOT,
      SERVICE_STATE_DIR: join(folder.path, 'state'),
      SERVICE_SNAPSHOTS_DIR: join(folder.path, 'snapshots'),
      SERVICE_LISTEN_ADDR: ADDRESS,
    };
    const cli = await Cli.of(`http://${ADDRESS}`, env);
    try {
      const up = await cli.run(['up'], { withinMs: UP_MS });
      expect(up.code, up.stderr).toBe(0);
      expect(up.stdout).toContain(`Atoll is up at http://${ADDRESS}`);
      expect(await cli.ok(['status'])).toContain('sandboxes 0');
    } finally {
      expect(await cli.run(['down'])).toMatchObject({ code: 0 });
    }
    expect(await cli.run(['status'])).toMatchObject({ code: 7 });
    expect((await cli.run(['down'])).stdout).toContain('not running');
  },
  UP_MS,
);

/** What the doctor says, without what changes from one moment to the next. */
function lasting(said: string): string {
  return said.replace(/\d+ MiB/g, '');
}

import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Daemon } from '../harness/daemon.ts';
import { createSandbox } from '../harness/sandbox.ts';
import { Cli } from './harness/cli.ts';
import { emptyFolder } from './harness/installed.ts';

it('a daemon that is gone on the way is told in one line, by everything that waits', async () => {
  const lost = await Daemon.start();
  const cli = await Cli.of(lost.url);
  await createSandbox(lost.client, { name: 'dev' });
  const id = await cli.ok(['exec', '-d', 'dev', '--', 'sh', '-c', 'echo begun; sleep 300']);
  await cli.ok(['exec', 'dev', 'truncate', '-s', '20G', '/root/endless']);
  await using folder = await emptyFolder();
  const waiting = {
    exec: cli.start(['exec', 'dev', '--', 'sleep', '300']),
    stream: cli.start(['exec', '--stream', 'dev', '--', 'sh', '-c', 'echo begun; sleep 300']),
    logs: cli.start(['logs', 'dev', id]),
    shell: cli.start(['shell', 'dev', '--', 'sh', '-c', 'echo be""gun; sleep 300']),
    tunnel: cli.start(['tunnel', 'dev', '7070', '--to', '9']),
    cp: cli.start(['cp', 'dev:/root/endless', join(folder.path, 'endless')]),
  };
  await Promise.all([waiting.stream.says('begun'), waiting.logs.says('begun'), waiting.shell.says('begun')]);
  await waiting.tunnel.says('reaches');
  await lost.kill();
  for (const [what, running] of Object.entries(waiting)) {
    const { code, stderr } = await running.ended();
    const own = stderr.split('\n').filter((each) => each.startsWith('atoll: '));
    expect({ what, own }).toEqual({
      what,
      own: [expect.stringMatching(/(lost the connection to|cannot reach) the Atoll daemon/)],
    });
    expect({ what, code }).toEqual({ what, code: ['exec', 'stream', 'shell'].includes(what) ? 125 : 7 });
  }
  expect(await cli.run(['ls', '--url', lost.url])).toMatchObject({ code: 7 });
  await using _next = await lost.restart();
});

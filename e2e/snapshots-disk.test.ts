import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { Daemon } from './harness/daemon.ts';
import { expectFailure } from './harness/failure.ts';
import { createSandbox } from './harness/sandbox.ts';
import { bringUp, deleteSnapshots, listSnapshots, takeSnapshot } from './harness/snapshot.ts';

const execute = promisify(execFile);

it(
  'a full disk refuses a snapshot, tells the bytes, and the sandbox goes on',
  { timeout: 120_000 },
  async () => {
    await using stack = new AsyncDisposableStack();
    const dir = await mkdtemp('/var/tmp/atoll-e2e-full-');
    stack.defer(() => rm(dir, { recursive: true, force: true }));
    // Another file system than that of the machines: what becomes a snapshot has to be copied there.
    await execute('mount', ['-t', 'tmpfs', '-o', 'size=48m,mode=0755', 'tmpfs', dir]);
    stack.defer(() => execute('umount', [dir]).then(() => undefined));
    const daemon = stack.use(await Daemon.start({ SERVICE_SNAPSHOTS_DIR: join(dir, 'snapshots') }));
    const { client } = daemon;
    const sandbox = await createSandbox(client, { mem_size_mib: 256, vcpu_count: 1 });
    await sandbox.sh(
      'echo >/root/beats; nohup sh -c "while sleep 0.1; do echo >>/root/beats; done" >/dev/null 2>&1 &',
    );

    for (const [method, path] of [
      ['POST', `${sandbox.path}/snapshot`],
      ['DELETE', sandbox.path],
    ] as const) {
      const refused = await client.call(method, path);
      expectFailure(refused, 503, 'INSUFFICIENT_DISK', dir);
      expect(refused.text).toMatch(/ \d{8,} bytes are needed, \d+ bytes are free/);
    }
    expect(await listSnapshots(client)).toEqual([]);
    const beats = Number(await sandbox.sh('wc -l </root/beats'));
    await sandbox.sh('sleep 0.5');
    expect(Number(await sandbox.sh('wc -l </root/beats'))).toBeGreaterThan(beats);

    await execute('mount', ['-o', 'remount,size=1g', dir]);
    const id = await takeSnapshot(client, sandbox.id);
    const resumed = await bringUp(client, `${id}/resume`);
    expect(Number(await resumed.sh('wc -l </root/beats'))).toBeGreaterThan(beats);
    await resumed.destroy();
    await deleteSnapshots(client);
    await daemon.stop();
  },
);

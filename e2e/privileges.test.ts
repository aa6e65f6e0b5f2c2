import { execFile } from 'node:child_process';
import { mkdtemp, readFile, realpath, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { Daemon, startRefused } from './harness/daemon.ts';
import { loadConfig } from '../packages/daemon/src/config.ts';
import { confine, findUser } from '../packages/daemon/src/privileges.ts';
import { machinePid } from './harness/host.ts';
import { createSandbox } from './harness/sandbox.ts';

const execute = promisify(execFile);
// linux/capability.h: bit 12 is CAP_NET_ADMIN.
const NET_ADMIN = '0000000000001000';
const NONE = '0000000000000000';

let stack = new AsyncDisposableStack();
afterEach(async () => {
  await stack.disposeAsync();
  stack = new AsyncDisposableStack();
});

/** Fields of /proc/<pid>/status, their values as they stand there. */
async function statusOf(pid: number): Promise<Record<string, string>> {
  const lines = (await readFile(`/proc/${pid}/status`, 'utf8')).trim().split('\n');
  return Object.fromEntries(lines.map((line) => line.split(/:\s*/, 2) as [string, string]));
}

/** What a guest boots from, by the variable that names it. */
async function guestFiles(): Promise<Record<string, string>> {
  const { kernelPath, baseRootfs, initramfsPath, netlinkPath } = loadConfig(process.env).config;
  return {
    SERVICE_KERNEL_PATH: await realpath(kernelPath),
    SERVICE_BASE_ROOTFS: await realpath(baseRootfs),
    SERVICE_INITRAMFS_PATH: await realpath(initramfsPath),
    SERVICE_NETLINK_PATH: await realpath(netlinkPath),
  };
}

async function nameServerOf(pid: number): Promise<number> {
  return Number((await execute('pgrep', ['--parent', String(pid), 'dnsmasq'])).stdout);
}

describe('a daemon that root starts', () => {
  it('is another user with one capability, and its children hold none', async () => {
    const daemon = stack.use(await Daemon.start());
    const sandbox = stack.use(await createSandbox(daemon.client));
    const uid = Number((await execute('id', ['-u', process.env.SERVICE_USER ?? ''])).stdout);
    const sameUser = { Uid: Array(4).fill(uid).join('\t'), NoNewPrivs: '1' };
    const sets = {
      CapInh: NET_ADMIN,
      CapPrm: NET_ADMIN,
      CapEff: NET_ADMIN,
      CapBnd: NET_ADMIN,
      CapAmb: NET_ADMIN,
    };
    expect(await statusOf(daemon.pid)).toMatchObject({ ...sameUser, ...sets });
    const none = { CapInh: NONE, CapPrm: NONE, CapEff: NONE, CapAmb: NONE };
    const vm = await statusOf(await machinePid(daemon.stateDir, sandbox.id));
    expect(vm).toMatchObject({ ...sameUser, ...none, Seccomp: '2' });
    expect(await statusOf(await nameServerOf(daemon.pid))).toMatchObject({ ...sameUser, ...none });
    expect(await stat(daemon.stateDir)).toMatchObject({ uid, mode: 0o40700 });
  });

  it('keeps its state where that user may not go, if it is told to', async () => {
    const closed = await mkdtemp('/var/tmp/atoll-closed-');
    stack.defer(() => rm(closed, { recursive: true, force: true }));
    const daemon = stack.use(await Daemon.start({ SERVICE_STATE_DIR: join(closed, 'state') }));
    const sandbox = stack.use(await createSandbox(daemon.client));
    expect(await sandbox.sh('echo well')).toBe('well');
    expect((await stat(join(closed, 'state/machines', sandbox.id, 'root.qcow2'))).isFile()).toBe(true);
    expect(await stat(closed)).toMatchObject({ uid: 0, mode: 0o40700 });
  });

  it.each([
    [
      'a user that is missing',
      { SERVICE_USER: 'nobody-at-all' },
      'the user nobody-at-all, which it would become, is missing',
    ],
    ['root', { SERVICE_USER: 'root' }, 'SERVICE_USER=root: takes an unprivileged user'],
    [
      'the directory of others',
      { SERVICE_STATE_DIR: '/usr' },
      'SERVICE_STATE_DIR=/usr: belongs to another user',
    ],
  ])('refuses %s', async (_, env, reason) => {
    const { code, stderr } = await startRefused(env);
    expect(code).toBeGreaterThan(0);
    expect(stderr).toContain(reason);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});

describe('a daemon that another user starts', () => {
  it('refuses without the capability, and says how to get it', async () => {
    const none = ['setpriv', '--inh-caps=-all', '--ambient-caps=-all', '--'];
    const main = fileURLToPath(new URL('../packages/daemon/src/main.ts', import.meta.url));
    const env = await guestFiles();
    const { argv, seen } = await confine(
      await findUser('daemon'),
      [...none, process.execPath, main],
      Object.values(env),
    );
    const [file = '', ...args] = argv;
    const daemon = execute(file, args, {
      env: {
        ...process.env,
        ...Object.fromEntries(Object.entries(env).map(([name, path]) => [name, seen(path)])),
      },
    });
    await expect(daemon).rejects.toMatchObject({
      stderr: expect.stringMatching(/^atolld: takes the capability CAP_NET_ADMIN: .*\n$/) as string,
    });
  });
});
